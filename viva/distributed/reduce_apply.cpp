#include "viva/distributed/reduce_apply.h"

#include <algorithm>

namespace viva::distributed {

ReduceApply::ReduceApply(const comm::ReductionPlan& plan, const optim::Layout& layout, optim::Range owned)
    : sum_(plan, layout), owned_(owned) {}

void ReduceApply::run(const optim::FlatState& state, const std::vector<PartialView>& partials, const GivenGrads& given,
                      const StepFactors& factors) {
  visit_floating(state.layout().dtype(), "ReduceApply",
                 [&](auto type) { run_typed<decltype(type)>(state, partials, given, factors); });
}

template <typename T>
void ReduceApply::run_typed(const optim::FlatState& state, const std::vector<PartialView>& partials,
                            const GivenGrads& given, const StepFactors& factors) {
  const auto& entries = state.layout().entries();
  for (std::size_t i = state.layout().first_entry(owned_); i < entries.size(); ++i) {
    if (entries[i].offset >= owned_.end) break;
    if (!given.gave(i) || state.frozen(i)) continue;
    const auto update = state.next_factors<T>(i, factors.lr);
    const std::int64_t end = std::min(entries[i].end, owned_.end);
    for (optim::Range range{std::max(entries[i].offset, owned_.begin), 0}; range.begin < end; range.begin = range.end) {
      range.end = sum_.end_of(range.begin, end);
      optim::GradientSum<T> sum = sum_.over<T>(partials, range);
      if (state.is_buffer(i)) {
        sum.scale = static_cast<T>(factors.statistic);
        state.update_buffer<T>(static_cast<T>(factors.buffer_momentum), range, sum);
      } else {
        sum.scale = static_cast<T>(factors.gradient);
        state.update<T>(update, range, sum);
      }
    }
  }
}

}  // namespace viva::distributed
