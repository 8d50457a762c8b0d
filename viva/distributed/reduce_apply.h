// The second half of a step, in one pass over an owned range: add the partial sums, scale, update the parameters.
#pragma once

#include <vector>

#include "viva/distributed/range_sum.h"
#include "viva/distributed/step_rules.h"
#include "viva/optim/flat_state.h"

namespace viva::distributed {

// What a step multiplies by.
struct StepFactors {
  double gradient = 1;         // the sum of the partials
  double statistic = 1;        // the same for buffers
  double lr = 1;               // every learning rate
  double buffer_momentum = 0;  // what a buffer takes of the step's statistic
};

// Used by one thread.
class ReduceApply {
 public:
  ReduceApply(const comm::ReductionPlan& plan, const optim::Layout& layout, optim::Range owned);

  // Updates the owned range of `state` with the canonical sum of the partials (one for each of plan.partials()).
  // What is frozen, or what `given` does not have, stays as it is. Call within a KernelScope.
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
