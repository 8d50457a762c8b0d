// Sums, means and maxima. Without an axis over all elements, to a scalar; with one, that axis goes or becomes 1.
#pragma once

#include "viva/autograd/tape.h"

namespace viva::autograd {

struct ReduceOptions {
  bool keep_axis = false;  // as an axis of length 1
};

Variable sum(const Variable& x);
Variable sum(const Variable& x, std::int64_t axis, ReduceOptions options = {});
// InvalidShape where there is nothing to take the mean of.
Variable mean(const Variable& x);
Variable mean(const Variable& x, std::int64_t axis, ReduceOptions options = {});
// The gradient goes to the first of equal maxima. InvalidShape where there is nothing to choose from.
Variable max(const Variable& x, std::int64_t axis, ReduceOptions options = {});

}  // namespace viva::autograd
