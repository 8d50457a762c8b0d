// The second half of a step, in one pass over an owned range: add the partial sums, scale, update the parameters.
#pragma once

#include <vector>

#include "viva/distributed/range_sum.h"
#include "viva/distributed/step_rules.h"
#include "viva/optim/flat_state.h"

namespace viva::distributed {

// What a step multiplies by.
struct StepFactors {
  double gradient = 1;  // the sum of the partials
  double lr = 1;        // every learning rate
};

// Used by one thread.
class ReduceApply {
 public:
  ReduceApply(const comm::ReductionPlan& plan, const optim::Layout& layout, optim::Range owned);

  // Updates the owned range of `state` with the canonical sum of the partials (one for each of plan.partials()).
  // Parameters that are frozen, or that `given` does not have, stay as they are. Call within a KernelScope.
  void run(const optim::FlatState& state, const std::vector<PartialView>& partials, const GivenGrads& given,
           const StepFactors& factors);

 private:
  template <typename T>
  void run_typed(const optim::FlatState& state, const std::vector<PartialView>& partials, const GivenGrads& given,
                 const StepFactors& factors);

  RangeSum sum_;
  optim::Range owned_;
};

}  // namespace viva::distributed
