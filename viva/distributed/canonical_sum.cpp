#include "viva/distributed/canonical_sum.h"

#include "viva/comm/canonical_tree.h"

namespace viva::distributed {

double aggregation_scale(GradAggregation aggregation, std::int64_t num_workers, std::int64_t samples) {
  switch (aggregation) {
    case GradAggregation::kSum:
      return 1.0;
    case GradAggregation::kAverage:
      return 1.0 / static_cast<double>(num_workers);
    case GradAggregation::kWeightedAverage:
      return 1.0 / static_cast<double>(samples);
  }
  throw ConfigError({}, 0, "aggregation", "a value outside the enumeration");
}

double statistic_scale(GradAggregation aggregation, std::int64_t batches, std::int64_t samples) {
  return 1.0 / static_cast<double>(aggregation == GradAggregation::kWeightedAverage ? samples : batches);
}

void scale(std::vector<GradPair>& grads, double factor) {
  for (GradPair& pair : grads) {
    pair.grad = pair.grad.clone();
    visit_floating(pair.grad.dtype(), "scale", [&](auto type) {
      using T = decltype(type);
      for (T& value : pair.grad.mutable_values<T>()) value = static_cast<T>(factor) * value;
    });
  }
}

std::vector<GradPair> add(std::span<const GradPair> a, std::span<const GradPair> b) {
  std::vector<GradPair> sums;
  for (std::size_t i = 0; i < a.size(); ++i) {
    Tensor sum = a[i].grad.clone();
    visit_floating(sum.dtype(), "add", [&](auto type) {
      using T = decltype(type);
      const auto left = sum.mutable_values<T>();
      const auto right = b[i].grad.values<T>();
      for (std::size_t k = 0; k < left.size(); ++k) left[k] = left[k] + right[k];
    });
    sums.push_back({a[i].name, sum});
  }
  return sums;
}

std::vector<GradPair> canonical_sum(std::span<const std::vector<GradPair>> per_worker) {
  if (per_worker.size() == 1) return per_worker.front();
  const auto middle = static_cast<std::size_t>(comm::split_of({0, static_cast<std::int64_t>(per_worker.size())}));
  return add(canonical_sum(per_worker.first(middle)), canonical_sum(per_worker.subspan(middle)));
}

}  // namespace viva::distributed
