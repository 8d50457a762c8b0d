#include "viva/nn/mlp.h"

#include <fmt/format.h>

#include "viva/base/error.h"
#include "viva/nn/layers.h"

namespace viva::nn {

Model mlp(const std::vector<std::int64_t>& sizes) {
  if (sizes.size() < 2) {
    throw InvalidShape("mlp: expected at least two sizes, got " + to_string(Shape(sizes.begin(), sizes.end())));
  }
  Sequential layers;
  layers.add("flatten", Flatten());
  for (std::size_t l = 0; l + 1 < sizes.size(); ++l) {
    if (l > 0) layers.add(fmt::format("relu.{}", l - 1), Relu());
    layers.add(fmt::format("layers.{}", l), Linear(sizes[l], sizes[l + 1]));
  }
  return Model(std::move(layers));
}

}  // namespace viva::nn
