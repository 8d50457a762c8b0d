// Named parameters and named gradients.
#pragma once

#include <string>
#include <vector>

#include "viva/tensor/tensor.h"

namespace viva {

// kTrained: an optimizer updates it by its gradient. kBuffer: running statistics, such as a batch norm's means; no
// optimizer touches it. In the place of a gradient a batch gives its own statistic, and a training step moves the value
// towards the mean of them (docs/algorithms.md).
enum class ParamRole { kTrained, kBuffer };

struct Param {
  std::string name;
  Tensor value;
  ParamRole role = ParamRole::kTrained;
};

struct GradPair {
  std::string name;
  Tensor grad;
};

}  // namespace viva
