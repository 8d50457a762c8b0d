// The second half of a step with two workers: sum their gradients, scale, update with momentum, in one pass.
#pragma once

#include <cstdint>
#include <vector>

#include "viva/comm/canonical_tree.h"
#include "viva/distributed/reduce_apply.h"
#include "viva/optim/flat_state.h"

namespace viva::bench {

// GB/s over `elements` parameters, reads and writes counted: two partials, the parameter and its moment are read, the
// last two written, 24 bytes an element. Each thread owns a range, as an executor does.
class ReduceApplyPass {
 public:
  ReduceApplyPass(std::int64_t elements, int passes);
  double measure(int threads);

 private:
  void check(const optim::FlatState& state) const;

  const comm::ReductionPlan plan_;
  Param initial_;
  Tensor left_, right_;
  std::vector<distributed::PartialView> partials_;
  distributed::GivenGrads given_;
  int passes_;
};

}  // namespace viva::bench
