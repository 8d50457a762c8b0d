// Clipping: a bound on a step's gradient, by element and as a whole.
#pragma once

#include <optional>

namespace viva::optim {

// Both may be given: values first, and the norm of what is left. Frozen parameters and buffers have no part in it.
struct Clipping {
  std::optional<double> norm = {};   // the most that the norm over all parameters' gradients may be; > 0
  std::optional<double> value = {};  // the most that an element's magnitude may be; > 0

  bool any() const { return norm || value; }
};

// What the gradient is multiplied by: max_norm / (norm + 1e-6), at most 1, as in PyTorch's clip_grad_norm_. A norm that
// is NaN gives NaN.
inline double clip_factor(double max_norm, double norm) {
  const double factor = max_norm / (norm + 1e-6);
  return factor > 1 ? 1 : factor;
}

}  // namespace viva::optim
