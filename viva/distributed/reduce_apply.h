// The second half of a step, in one pass over an owned range: add the partial sums, scale, update the parameters.
#pragma once

#include <cstddef>
#include <vector>

#include "viva/comm/canonical_tree.h"
#include "viva/distributed/step_rules.h"
#include "viva/optim/flat_state.h"

namespace viva::distributed {

// A partial sum as the owner of a range sees it: the flat buffer, and the factor still to be multiplied in.
struct PartialView {
  const Tensor* buffer = nullptr;
  double weight = 1;
};

// Owns chunk-sized places for the sums on the way to the root. Used by one thread.
class ReduceApply {
 public:
  ReduceApply(const comm::ReductionPlan& plan, const optim::Layout& layout, optim::Range owned);

  // Updates the owned range of `state` with `scale` times the canonical sum of the partials (one for each of
  // plan.partials()). Parameters that `given` does not have stay as they are. Call within a KernelScope.
  void run(const optim::FlatState& state, const std::vector<PartialView>& partials, const GivenGrads& given,
           double scale);

 private:
  template <typename T>
  void run_typed(const optim::FlatState& state, const std::vector<PartialView>& partials, const GivenGrads& given,
                 T scale);
  template <typename T>
  optim::GradientSum<T> sum_of(const std::vector<PartialView>& partials, optim::Range range);

  const comm::ReductionPlan& plan_;
  optim::Range owned_;
  bool fits_;  // no sum needs a place: the range need not be cut into chunks
  std::vector<Tensor> places_;
};

}  // namespace viva::distributed
