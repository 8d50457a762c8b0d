// The reference model "mlp".
#pragma once

#include <cstdint>
#include <vector>

#include "viva/nn/model.h"

namespace viva::nn {

// A multilayer perceptron: inputs (n, …) are flattened to (n, sizes.front()), then Linear and ReLU in turn, the last
// Linear gives the logits (n, sizes.back()). Parameters "layers.0.weight" (out, in), "layers.0.bias",
// "layers.1.weight", …. InvalidShape for fewer than two sizes or one below 1.
Model mlp(const std::vector<std::int64_t>& sizes);

}  // namespace viva::nn
