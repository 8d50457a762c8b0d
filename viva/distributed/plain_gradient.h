// The guard, clipping and the update of buffers as plain loops over named gradients: what the reference runs, and what
// the fast path is checked with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "viva/optim/clipping.h"
#include "viva/optim/layout.h"

namespace viva::distributed {

struct NonFiniteElement {
  std::string name;
  std::int64_t index = 0;
};

// The first element that is infinite or NaN, in the order of the gradients.
std::optional<NonFiniteElement> first_non_finite(const std::vector<GradPair>& grads);

// Note [Norm]: the root of the sum of all elements' squares, in double. Squares are summed by piece: what lies within
// one parameter and one chunk of the flat buffer. Within a piece element i is added to lane i mod 16, and the lanes are
// added in the canonical order; so are the pieces, in the layout's order, with zeros for parameters that are not among
// `grads`.
double gradient_norm(const optim::Layout& layout, const std::vector<GradPair>& grads);

// New tensors: each element brought within the limit, then everything multiplied by one factor that brings the norm
// within its own.
void clip(std::vector<GradPair>& grads, const optim::Clipping& clipping, const optim::Layout& layout);

// Takes the buffers' statistics out of the layout's gradients.
std::vector<GradPair> take_statistics(std::vector<GradPair>& grads, const optim::Layout& layout);

// New tensors for the buffers among `params`: value + momentum * (statistic - value), the momentum rounded to the
// dtype.
void update_buffers(std::vector<Param>& params, const std::vector<GradPair>& statistics, double momentum);

}  // namespace viva::distributed
