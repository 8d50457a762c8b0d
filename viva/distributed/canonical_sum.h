// The canonical sum of named gradients as plain loops: what the reference runs, and what the fast path is checked with.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "viva/distributed/aggregation.h"

namespace viva::distributed {

// Note [Scale]: the sum over workers is multiplied by one factor: 1 (kSum), 1/W (kAverage), or one over the number of
// samples (kWeightedAverage); a reciprocal in double, which is then rounded to the gradients' dtype.
double aggregation_scale(GradAggregation aggregation, std::int64_t num_workers, std::int64_t samples);

// The same for buffers, whose sum becomes a mean over the step's batches, whatever the gradients become: over batches
// (kSum, kAverage) or weighted by samples (kWeightedAverage).
double statistic_scale(GradAggregation aggregation, std::int64_t batches, std::int64_t samples);

// New tensors: factor * grad, the factor rounded to the gradient's dtype.
void scale(std::vector<GradPair>& grads, double factor);

// New tensors: a + b, element by element.
std::vector<GradPair> add(std::span<const GradPair> a, std::span<const GradPair> b);

// The sum over the workers in the order of Note [Canonical sum]. At least one; equal names and shapes, in order.
std::vector<GradPair> canonical_sum(std::span<const std::vector<GradPair>> per_worker);

}  // namespace viva::distributed
