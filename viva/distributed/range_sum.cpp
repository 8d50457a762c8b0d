#include "viva/distributed/range_sum.h"

#include <algorithm>

#include "viva/tensor/elementwise.h"

namespace viva::distributed {

RangeSum::RangeSum(const comm::ReductionPlan& plan, const optim::Layout& layout) : plan_(plan) {
  for (std::size_t p = 0; p < plan.places(); ++p) places_.push_back(Tensor::zeros({optim::kChunk}, layout.dtype()));
}

std::int64_t RangeSum::end_of(std::int64_t begin, std::int64_t end) const {
  // The only addition, if any, is the last.
  if (plan_.additions().size() < 2) return end;
  return std::min(end, (begin / optim::kChunk + 1) * optim::kChunk);
}

template <typename T>
optim::GradientSum<T> RangeSum::over(const std::vector<PartialView>& partials, optim::Range range) {
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

template optim::GradientSum<float> RangeSum::over<float>(const std::vector<PartialView>&, optim::Range);
template optim::GradientSum<double> RangeSum::over<double>(const std::vector<PartialView>&, optim::Range);

}  // namespace viva::distributed
