// Named parameters and named gradients.
#pragma once

#include <string>
#include <vector>

#include "viva/tensor/tensor.h"

namespace viva {

struct Param {
  std::string name;
  Tensor value;
};

struct GradPair {
  std::string name;
  Tensor grad;
};

}  // namespace viva
