#include "cli/problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "viva/base/error.h"
#include "viva/data/idx.h"
#include "viva/nn/mlp.h"

namespace viva::cli {
namespace {

// A label beyond this is taken for damage, unless the recipe gives the number of classes.
constexpr std::int64_t kMaxInferredClasses = 10'000;

// Every label must be one of `classes`; returns the largest, -1 where there is none.
std::int64_t check_labels(const std::string& path, std::int64_t classes, std::string_view advice) {
  const Tensor stored = data::read_idx(path);
  if (is_floating(stored.dtype())) {
    throw IoError(path, -1, fmt::format("expected whole numbers as labels, found {}", name_of(stored.dtype())));
  }
  const Tensor labels = stored.to(Dtype::kInt32);
  const std::span<const std::int32_t> values = labels.values<std::int32_t>();
  std::int64_t largest = -1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0 || values[i] >= classes) {
      throw IoError(
          path, -1,
          fmt::format("expected labels from 0 to {}, found {} at index {}{}", classes - 1, values[i], i, advice));
    }
    largest = std::max<std::int64_t>(largest, values[i]);
  }
  return largest;
}

// The training labels decide where the recipe does not.
std::int64_t classes_of(const Recipe& recipe) {
  if (recipe.model.classes) return *recipe.model.classes;
  constexpr std::string_view kAdvice = "; give model.classes where there are more";
  const std::int64_t largest = check_labels(recipe.data.train_labels, kMaxInferredClasses, kAdvice);
  if (largest < 0) throw IoError(recipe.data.train_labels, -1, "expected at least one label, found none");
  return largest + 1;
}

// The widths of a perceptron, from the inputs to the classes.
std::vector<std::int64_t> widths_of(const Recipe& recipe, const data::Dataset& dataset, std::int64_t classes) {
  std::vector<std::int64_t> widths = {element_count(dataset.spec().input_shape)};
  widths.insert(widths.end(), recipe.model.hidden.begin(), recipe.model.hidden.end());
  widths.push_back(classes);
  return widths;
}

data::Dataset load_test_dataset(const DataRecipe& recipe, std::int64_t classes) {
  data::Dataset dataset = data::load_idx_dataset(*recipe.test_images, *recipe.test_labels);
  check_labels(*recipe.test_labels, classes, ", which the model has no class for");
  return dataset;
}

}  // namespace

TrainProblem load_train_problem(const Recipe& recipe) {
  data::Dataset train = data::load_idx_dataset(recipe.data.train_images, recipe.data.train_labels);
  const std::int64_t classes = classes_of(recipe);
  check_labels(recipe.data.train_labels, classes, ", which is outside model.classes");
  const std::vector<std::int64_t> widths = widths_of(recipe, train, classes);
  std::optional<data::Dataset> test;
  if (recipe.data.test_images) {
    test = load_test_dataset(recipe.data, classes);
    const Shape expected = train.spec().input_shape;
    if (const Shape got = test->spec().input_shape; got != expected) {
      throw IoError(*recipe.data.test_images, -1,
                    fmt::format("expected images of shape {}, as in {}, found {}", to_string(expected),
                                recipe.data.train_images, to_string(got)));
    }
  }
  return {fmt::format("perceptron {}", fmt::join(widths, "-")), nn::mlp(widths), std::move(train), std::move(test)};
}

TestProblem load_test_problem(const Recipe& recipe) {
  if (!recipe.data.test_images) {
    throw ConfigError({}, 0, "data.test_images", "missing; evaluation needs data.test_images and data.test_labels");
  }
  const std::int64_t classes = classes_of(recipe);
  data::Dataset test = load_test_dataset(recipe.data, classes);
  nn::Model model = nn::mlp(widths_of(recipe, test, classes));
  return {std::move(model), std::move(test)};
}

std::vector<Param> params_of_model(const nn::Model& model, std::vector<Param> params, const std::string& path) {
  const auto reject = [&](const std::string& message) {
    throw IoError(path, -1, "these are not the parameters of the recipe's model: " + message);
  };
  // Initial parameters have the names, shapes, roles and the order that the model needs; their values do not matter.
  std::vector<Param> fitting = model.initial_params(0);
  for (Param& wanted : fitting) {
    const std::string& name = wanted.name;
    Tensor& value = wanted.value;
    const auto found =
        std::find_if(params.begin(), params.end(), [&](const Param& param) { return param.name == name; });
    if (found == params.end()) reject(fmt::format("'{}' is missing", name));
    if (found->value.shape() != value.shape()) {
      reject(fmt::format("expected '{}' of shape {}, found {}", name, to_string(value.shape()),
                         to_string(found->value.shape())));
    }
    if (found->value.dtype() != value.dtype()) {
      reject(fmt::format("expected '{}' as {}, found {}", name, name_of(value.dtype()), name_of(found->value.dtype())));
    }
    value = found->value;
    params.erase(found);
  }
  if (!params.empty()) reject(fmt::format("it has no '{}'", params.front().name));
  return fitting;
}

}  // namespace viva::cli
