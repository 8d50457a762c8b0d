// How the workers' gradients become one.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "viva/optim/optimizer.h"

namespace viva::distributed {

// kSum: the element-wise sum over workers. kAverage: the sum times 1/W, W counting workers without a batch.
// kWeightedAverage: every batch's gradient weighted by its number of samples, over the total number of samples: the
// gradient of the mean loss over all samples, however they were split.
enum class GradAggregation { kSum, kAverage, kWeightedAverage };

// "sum", "average", "weighted_average".
std::string_view name_of(GradAggregation aggregation);

// What one worker hands in; `samples` is its weight.
struct WorkerGrads {
  std::vector<GradPair> grads;
  std::int64_t samples = 1;
};

// The workers' gradients as one, in the first worker's order of names. Pure. At least one worker, equal lengths and
// names (DimensionError), equal shapes (ShapeMismatch{expected: the first worker's, got}), equal dtypes (DtypeError).
std::vector<GradPair> distribute_grads(std::span<const WorkerGrads> per_worker, GradAggregation aggregation);

// distribute_grads, then one optimizer step.
optim::StepResult synchronous_train_step(const optim::Optimizer& optimizer, std::span<const Param> params,
                                         std::span<const WorkerGrads> per_worker, GradAggregation aggregation);

}  // namespace viva::distributed
