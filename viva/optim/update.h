// The update rules as one pass over a range of flat buffers: what the functional step and the fast path both run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "viva/optim/optimizer.h"
#include "viva/tensor/elementwise.h"

namespace viva::optim {

// The gradient of a range, not yet summed: scale * (left + right), each operand with its weight. Where right.values is
// null it is scale * left.
template <typename T>
struct GradientSum {
  Weighted<T> left, right;
  T scale = 1;
};

// A range of a parameter and of its moments; moments that the rule does not have are null.
template <typename T>
struct UpdateTarget {
  T* param = nullptr;
  T* moment0 = nullptr;
  T* moment1 = nullptr;
};

// A rule's factors for one step of one parameter, computed in double and rounded once.
template <typename T>
struct UpdateFactors {
  OptimizerKind kind = OptimizerKind::kSgd;
  T lr = 0;                 // Adam's already divided by its first bias correction
  T decay0 = 0, rest0 = 0;  // of the first moment: momentum, alpha or beta1, and one minus that
  T decay1 = 0, rest1 = 0;  // of the second moment: beta2, and one minus that
  T root_scale = 1;         // one over the root of Adam's second bias correction
  T eps = 0;
  T shrink = 0;  // adamw: lr * weight_decay
};

// `settings` are the parameter's own. `steps` counts from 1: the update's number for this parameter.
template <typename T>
UpdateFactors<T> make_factors(OptimizerKind kind, const Hyperparameters& settings, std::int64_t steps);

// Updates `count` elements. Pointers are on 64-byte boundaries and the buffers reach to the end of their last cache
// line. Parameters are written past the caches: the next step's readers are other cores. Call within a KernelScope;
// T is float or double. tests/optim/optimizer_test.cpp holds the rules in plain double arithmetic.
template <typename T>
void update_range(const UpdateFactors<T>& factors, const GradientSum<T>& gradient, const UpdateTarget<T>& target,
                  std::size_t count);

// values[i] += momentum * (statistic[i] - values[i]), each operation rounded separately: a buffer's update. The same
// conditions.
template <typename T>
void track_range(T* values, T momentum, const GradientSum<T>& statistic, std::size_t count);

// out[i] = the sum itself, rounded as in update_range. The same conditions.
template <typename T>
void store_sum(T* out, const GradientSum<T>& gradient, std::size_t count);

}  // namespace viva::optim
