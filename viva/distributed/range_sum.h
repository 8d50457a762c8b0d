// RangeSum: the canonical sum of the partials over a range of the flat buffer.
#pragma once

#include <cstddef>
#include <vector>

#include "viva/comm/canonical_tree.h"
#include "viva/optim/layout.h"
#include "viva/optim/update.h"

namespace viva::distributed {

// A partial sum as the owner of a range sees it: the flat buffer, and the factor still to be multiplied in.
struct PartialView {
  const Tensor* buffer = nullptr;
  double weight = 1;
};

// Owns chunk-sized places for the sums on the way to the root. Used by one thread.
class RangeSum {
 public:
  RangeSum(const comm::ReductionPlan& plan, const optim::Layout& layout);

  // Where the range that begins at `begin` must end, at most at `end`: at its chunk's end where sums need places.
  std::int64_t end_of(std::int64_t begin, std::int64_t end) const;

  // All additions but the last, which is left to who reads the sum. The partials are one for each of plan.partials().
  // Valid until the next call.
  template <typename T>
  optim::GradientSum<T> over(const std::vector<PartialView>& partials, optim::Range range);

 private:
  const comm::ReductionPlan& plan_;
  std::vector<Tensor> places_;
};

}  // namespace viva::distributed
