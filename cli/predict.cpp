#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <variant>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/evaluation.h"
#include "cli/labelled_data.h"
#include "cli/problem.h"
#include "viva/base/error.h"
#include "viva/data/npy.h"
#include "viva/io/atomic_file.h"

namespace viva::cli {
namespace {

// The images of a file, scaled as the recipe scales its own, without labels.
data::Dataset load_inputs(const std::string& path, const Recipe& recipe) {
  const auto* images = std::get_if<ImageData>(&recipe.data.source);
  if (images == nullptr) throw ConfigError({}, 0, "data.train_images", "missing; viva predict is for images");
  const Tensor inputs = read_array(path);
  if (inputs.rank() < 2 || inputs.length() == 0) {
    throw IoError(path, -1, fmt::format("expected images (n, …), found shape {}", to_string(inputs.shape())));
  }
  return data::Dataset::from_tensors(inputs, Tensor::zeros({inputs.length()}, Dtype::kInt32), scaling_of(*images));
}

Tensor likeliest(const Tensor& probabilities) {
  const Tensor classes = Tensor::zeros({probabilities.length()}, Dtype::kInt32);
  const auto out = classes.mutable_values<std::int32_t>();
  for (std::int64_t i = 0; i < probabilities.length(); ++i) {
    const Tensor row = probabilities.row(i);
    const auto values = row.values<float>();
    out[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(std::ranges::max_element(values) - values.begin());
  }
  return classes;
}

// A line a sample.
std::string lines_of(const Tensor& results) {
  std::string text;
  for (std::int64_t i = 0; i < results.length(); ++i) {
    if (results.rank() == 1) {
      text += fmt::format("{}\n", results.values<std::int32_t>()[static_cast<std::size_t>(i)]);
    } else {
      const Tensor row = results.row(i);
      text += fmt::format("{:.6g}\n", fmt::join(row.values<float>(), ","));
    }
  }
  return text;
}

}  // namespace

void predict(const PredictCommand& command) {
  const Recipe recipe = load_recipe(command.recipe, command.overrides);
  const data::Dataset inputs = load_inputs(command.inputs, recipe);
  const NamedModel model = make_model(recipe.model, inputs.spec().input_shape, classes_of(recipe));
  const std::vector<Param> params = load_params(model.model, command.params);
  const Tensor rows = probabilities(model.model, params, inputs);
  const Tensor results = command.probabilities ? rows : likeliest(rows);
  if (command.out.empty()) return print_results(lines_of(results));
  io::AtomicFile file(command.out);
  file.write(data::npy_bytes(results));
  file.commit();
}

}  // namespace viva::cli
