#include "viva/distributed/plain_gradient.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "viva/comm/canonical_tree.h"
#include "viva/distributed/canonical_sum.h"

namespace viva::distributed {

std::optional<NonFiniteElement> first_non_finite(const std::vector<GradPair>& grads) {
  for (const GradPair& pair : grads) {
    for (std::int64_t i = 0; i < pair.grad.size(); ++i) {
      const bool finite = visit_floating(pair.grad.dtype(), "first_non_finite", [&](auto type) {
        return std::isfinite(pair.grad.values<decltype(type)>()[static_cast<std::size_t>(i)]);
      });
      if (!finite) return NonFiniteElement{pair.name, i};
    }
  }
  return std::nullopt;
}

double gradient_norm(const optim::Layout& layout, const std::vector<GradPair>& grads) {
  constexpr std::size_t kLanes = 16;
  std::vector<double> pieces;
  for (const optim::LayoutEntry& entry : layout.entries()) {
    const auto found = std::ranges::find(grads, entry.name, &GradPair::name);
    Tensor values = found == grads.end() ? Tensor::zeros(entry.shape, layout.dtype()) : found->grad;
    values = values.to(Dtype::kFloat64);
    std::vector<double> lanes(kLanes);
    for (std::int64_t i = 0; i < entry.size; ++i) {
      // Pieces begin at multiples of the number of lanes, or with the entry.
      const std::int64_t in_chunk = (entry.offset + i) % optim::kChunk, in_piece = std::min(i, in_chunk);
      const double x = values.values<double>()[static_cast<std::size_t>(i)];
      lanes[static_cast<std::size_t>(in_piece) % kLanes] += x * x;
      if (in_chunk + 1 == optim::kChunk || i + 1 == entry.size) {
        pieces.push_back(comm::canonical_sum(lanes));
        lanes.assign(kLanes, 0);
      }
    }
  }
  return std::sqrt(comm::canonical_sum(pieces));
}

void clip(std::vector<GradPair>& grads, const optim::Clipping& clipping, const optim::Layout& layout) {
  if (clipping.value) {
    for (GradPair& pair : grads) {
      pair.grad = pair.grad.clone();
      visit_floating(pair.grad.dtype(), "clip", [&](auto type) {
        using T = decltype(type);
        const T limit = static_cast<T>(*clipping.value);
        for (T& x : pair.grad.mutable_values<T>()) x = std::clamp(x, -limit, limit);
      });
    }
  }
  if (clipping.norm) scale(grads, optim::clip_factor(*clipping.norm, gradient_norm(layout, grads)));
}

std::vector<GradPair> take_statistics(std::vector<GradPair>& grads, const optim::Layout& layout) {
  std::vector<GradPair> gradients, statistics;
  for (GradPair& pair : grads) {
    const auto entry = static_cast<std::size_t>(layout.find(pair.name));
    const bool buffer = layout.entries()[entry].role == ParamRole::kBuffer;
    (buffer ? statistics : gradients).push_back(std::move(pair));
  }
  grads = std::move(gradients);
  return statistics;
}

void update_buffers(std::vector<Param>& params, const std::vector<GradPair>& statistics, double momentum) {
  for (const GradPair& pair : statistics) {
    Param& buffer = *std::ranges::find(params, pair.name, &Param::name);
    buffer.value = buffer.value.clone();
    visit_floating(buffer.value.dtype(), "update_buffers", [&](auto type) {
      using T = decltype(type);
      const auto values = buffer.value.mutable_values<T>();
      const auto statistic = pair.grad.values<T>();
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = values[i] + static_cast<T>(momentum) * (statistic[i] - values[i]);
      }
    });
  }
}

}  // namespace viva::distributed
