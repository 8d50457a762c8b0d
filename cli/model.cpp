#include "cli/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "viva/base/error.h"
#include "viva/io/safetensors.h"
#include "viva/nn/cnn.h"
#include "viva/nn/gpt.h"
#include "viva/nn/mlp.h"

namespace viva::cli {
namespace {

NamedModel make(const MlpRecipe& recipe, const Shape& sample, std::int64_t classes) {
  std::vector<std::int64_t> widths = {element_count(sample)};
  widths.insert(widths.end(), recipe.hidden.begin(), recipe.hidden.end());
  widths.push_back(classes);
  return {fmt::format("perceptron {}", fmt::join(widths, "-")), nn::mlp(widths)};
}

NamedModel make(const CnnRecipe& recipe, const Shape& sample, std::int64_t classes) {
  const bool grey = sample.size() == 2;
  if (!grey && sample.size() != 3) {
    throw ConfigError({}, 0, "model.kind",
                      fmt::format("cnn needs images (height, width) or (channels, height, width), found samples {}",
                                  to_string(sample)));
  }
  const nn::CnnOptions options{.channels = grey ? 1 : sample[0],
                               .height = sample[sample.size() - 2],
                               .width = sample[sample.size() - 1],
                               .classes = classes,
                               .algorithm = recipe.convolution};
  return {fmt::format("cnn for images {}, {} classes, {} convolutions", to_string(sample), classes,
                      recipe.convolution == Conv2dAlgorithm::kWinograd ? "Winograd" : "direct"),
          nn::cnn(options)};
}

NamedModel make(const GptRecipe& recipe, const Shape&, std::int64_t classes) {
  const nn::GptOptions options{.vocabulary = classes,
                               .context = recipe.context,
                               .layers = recipe.layers,
                               .heads = recipe.heads,
                               .channels = recipe.channels,
                               .dropout = recipe.dropout};
  return {fmt::format("gpt of {} layers, {} heads, {} channels, context {}, {} characters", recipe.layers, recipe.heads,
                      recipe.channels, recipe.context, classes),
          nn::gpt(options)};
}

}  // namespace

NamedModel make_model(const ModelRecipe& recipe, const Shape& sample, std::int64_t classes) {
  return std::visit([&](const auto& kind) { return make(kind, sample, classes); }, recipe.kind);
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

std::vector<Param> load_params(const nn::Model& model, const std::string& path) {
  return params_of_model(model, io::read_safetensors(path), path);
}

}  // namespace viva::cli
