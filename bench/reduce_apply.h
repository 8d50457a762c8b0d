// The fused pass of a step: sum two partial gradients, scale, update with momentum.
#pragma once

#include <cstdint>

#include "viva/optim/flat_state.h"

namespace viva::bench {

// GB/s over `elements` parameters, reads and writes counted: two partials, the parameter and its moment are read, the
// last two written, 24 bytes an element. Each thread owns a range, as an executor does.
class ReduceApply {
 public:
  ReduceApply(std::int64_t elements, int passes);
  double measure(int threads);

 private:
  void check(const optim::FlatState& state) const;

  Param initial_;
  Tensor left_, right_;
  int passes_;
};

}  // namespace viva::bench
