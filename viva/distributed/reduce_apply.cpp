#include "viva/distributed/reduce_apply.h"

#include <algorithm>

#include "viva/tensor/elementwise.h"

namespace viva::distributed {

ReduceApply::ReduceApply(const comm::ReductionPlan& plan, const optim::Layout& layout, optim::Range owned)
    : plan_(plan), owned_(owned), fits_(plan.additions().size() < 2) {
  for (std::size_t p = 0; p < plan.places(); ++p) places_.push_back(Tensor::zeros({optim::kChunk}, layout.dtype()));
}

void ReduceApply::run(const optim::FlatState& state, const std::vector<PartialView>& partials, const GivenGrads& given,
                      double scale) {
  visit_floating(state.layout().dtype(), "ReduceApply", [&](auto type) {
    using T = decltype(type);
    run_typed<T>(state, partials, given, static_cast<T>(scale));
  });
}

template <typename T>
void ReduceApply::run_typed(const optim::FlatState& state, const std::vector<PartialView>& partials,
                            const GivenGrads& given, T scale) {
  const auto& entries = state.layout().entries();
  // The first entry that reaches into the range: entries' ends ascend.
  const auto first = std::upper_bound(entries.begin(), entries.end(), owned_.begin,
                                      [](std::int64_t begin, const auto& entry) { return begin < entry.end; });
  for (auto entry = first; entry != entries.end() && entry->offset < owned_.end; ++entry) {
    const auto i = static_cast<std::size_t>(entry - entries.begin());
    if (!given.gave(i)) continue;
    const auto factors = state.next_factors<T>(i);
    const std::int64_t end = std::min(entry->end, owned_.end);
    for (optim::Range range{std::max(entry->offset, owned_.begin), 0}; range.begin < end; range.begin = range.end) {
      range.end = fits_ ? end : std::min(end, (range.begin / optim::kChunk + 1) * optim::kChunk);
      optim::GradientSum<T> gradient = sum_of<T>(partials, range);
      gradient.scale = scale;
      state.update<T>(factors, range, gradient);
    }
  }
}

// All additions but the last, which the update does on its way.
template <typename T>
optim::GradientSum<T> ReduceApply::sum_of(const std::vector<PartialView>& partials, optim::Range range) {
  const auto operand = [&](std::size_t number) -> Weighted<T> {
    if (number >= partials.size()) return {places_[number - partials.size()].values<T>().data(), 1};
    const PartialView& partial = partials[number];
    return {partial.buffer->values<T>().data() + range.begin, static_cast<T>(partial.weight)};
  };
  const auto& additions = plan_.additions();
  if (additions.empty()) return {operand(0), {}, 1};
  for (auto a = additions.begin(); a + 1 != additions.end(); ++a) {
    weighted_add<T>(places_[a->out].mutable_values<T>().data(), operand(a->left), operand(a->right),
                    static_cast<std::size_t>(range.size()));
  }
  return {operand(additions.back().left), operand(additions.back().right), 1};
}

}  // namespace viva::distributed
