// Compares gradients with finite differences: for tests of new operations and of hand-written gradients.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "viva/autograd/tape.h"

namespace viva::autograd {

struct GradientCheck {
  double largest_error = 0;  // |gradient - difference| over max(1, |gradient|, |difference|), the largest of all
  std::size_t input = 0;     // where it was found
  std::int64_t element = 0;
};

// `f` computes a value of any shape from Variables for `inputs`, which are float64 (DtypeError). The gradient of a
// fixed weighted sum of its elements is compared with central differences of step `epsilon` in every element of every
// input. An f that is not smooth near the inputs gives large errors.
GradientCheck check_gradient(const std::function<Variable(Tape&, std::span<const Variable>)>& f,
                             const std::vector<Tensor>& inputs, double epsilon = 1e-5);

}  // namespace viva::autograd
