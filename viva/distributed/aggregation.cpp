#include "viva/distributed/aggregation.h"

#include <fmt/format.h>

#include <array>

#include "viva/distributed/canonical_sum.h"
#include "viva/tensor/kernel_scope.h"

namespace viva::distributed {
namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, 3> kAggregationNames{"sum", "average", "weighted_average"};

// The gradient of `worker` for every name of the first worker, in that order.
std::vector<GradPair> in_order_of(const std::vector<GradPair>& first, const std::vector<GradPair>& grads,
                                  std::size_t worker) {
  if (grads.size() != first.size()) {
    throw DimensionError(
        fmt::format("worker {}: expected {} gradients, as worker 0 gave, got {}", worker, first.size(), grads.size()));
  }
  std::map<std::string_view, const Tensor*> by_name;
  for (const GradPair& pair : grads) {
    if (!by_name.emplace(pair.name, &pair.grad).second) {
      throw DimensionError(fmt::format("worker {}: two gradients for '{}'", worker, pair.name), pair.name);
    }
  }
  std::vector<GradPair> ordered;
  for (const GradPair& pair : first) {
    const auto found = by_name.find(pair.name);
    if (found == by_name.end()) {
      throw DimensionError(fmt::format("worker {}: no gradient for '{}', which worker 0 gave", worker, pair.name),
                           pair.name);
    }
    const Tensor& grad = *found->second;
    const auto where = fmt::format("worker {}, gradient of '{}'", worker, pair.name);
    if (grad.shape() != pair.grad.shape()) throw ShapeMismatch(where, pair.grad.shape(), grad.shape());
    if (grad.dtype() != pair.grad.dtype() || !is_floating(grad.dtype())) {
      throw DtypeError(fmt::format("{}: expected {}, got {}", where,
                                   is_floating(pair.grad.dtype()) ? name_of(pair.grad.dtype()) : "a floating dtype",
                                   name_of(grad.dtype())));
    }
    ordered.push_back({pair.name, grad});
  }
  return ordered;
}

}  // namespace

std::string_view name_of(GradAggregation aggregation) {
  return kAggregationNames.at(static_cast<std::size_t>(aggregation));
}

std::vector<GradPair> distribute_grads(std::span<const WorkerGrads> per_worker, GradAggregation aggregation) {
  const KernelScope scope;
  if (per_worker.empty()) throw DimensionError("distribute_grads: expected at least one worker, got none");
  std::vector<std::vector<GradPair>> leaves;
  std::int64_t samples = 0;
  for (std::size_t w = 0; w < per_worker.size(); ++w) {
    if (per_worker[w].samples < 0) {
      throw DimensionError(fmt::format("worker {}: expected samples >= 0, got {}", w, per_worker[w].samples));
    }
    leaves.push_back(in_order_of(per_worker.front().grads, per_worker[w].grads, w));
    if (aggregation == GradAggregation::kWeightedAverage)
      scale(leaves.back(), static_cast<double>(per_worker[w].samples));
    samples += per_worker[w].samples;
  }
  if (aggregation == GradAggregation::kWeightedAverage && samples == 0) {
    throw DimensionError("distribute_grads: a weighted average needs at least one sample, got none");
  }
  std::vector<GradPair> total = canonical_sum(leaves);
  scale(total, aggregation_scale(aggregation, static_cast<std::int64_t>(per_worker.size()), samples));
  return total;
}

optim::StepResult synchronous_train_step(const optim::Optimizer& optimizer, std::span<const Param> params,
                                         std::span<const WorkerGrads> per_worker, GradAggregation aggregation) {
  return optim::step(optimizer, params, distribute_grads(per_worker, aggregation));
}

}  // namespace viva::distributed
