#include "bench/reduce_apply.h"

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "bench/measure.h"
#include "viva/base/error.h"
#include "viva/tensor/kernel_scope.h"

namespace viva::bench {
namespace {

constexpr float kLr = 0.05F, kMomentum = 0.9F, kWeight = 64, kScale = 1.0F / 128;
// The partials repeat with these periods, so that a scalar loop over their product tells every element's result.
constexpr std::size_t kLeftPeriod = 5, kRightPeriod = 3, kPeriod = kLeftPeriod * kRightPeriod;

Tensor repeating(std::int64_t elements, std::size_t period) {
  Tensor tensor = Tensor::zeros({elements});
  const std::span<float> values = tensor.mutable_values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % period);
  return tensor;
}

}  // namespace

ReduceApply::ReduceApply(std::int64_t elements, int passes)
    : initial_{"theta", Tensor::zeros({elements})},
      left_(repeating(elements, kLeftPeriod)),
      right_(repeating(elements, kRightPeriod)),
      passes_(passes) {}

double ReduceApply::measure(int threads) {
  const optim::FlatState state(optim::sgd_momentum(double{kLr}, double{kMomentum}), std::span(&initial_, 1));
  const double seconds = seconds_together(threads, [&](int thread) {
    const KernelScope scope;
    const optim::Range range = state.layout().part(thread, threads);
    const optim::GradientSum<float> gradient{{left_.values<float>().data() + range.begin, kWeight},
                                             {right_.values<float>().data() + range.begin, kWeight},
                                             kScale};
    for (int pass = 0; pass < passes_; ++pass) state.update(state.next_factors<float>(0), range, gradient);
  });
  check(state);
  const auto elements = static_cast<double>(initial_.value.size());
  return 6.0 * sizeof(float) * elements * passes_ / seconds / 1e9;
}

void ReduceApply::check(const optim::FlatState& state) const {
  std::array<float, kPeriod> expected{};
  for (std::size_t i = 0; i < kPeriod; ++i) {
    const float sum = kWeight * static_cast<float>(i % kLeftPeriod) + kWeight * static_cast<float>(i % kRightPeriod);
    float velocity = 0;
    for (int pass = 0; pass < passes_; ++pass) {
      velocity = kMomentum * velocity + kScale * sum;
      expected[i] -= kLr * velocity;
    }
  }
  const std::span<const float> values = state.params().front().value.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != expected[i % kPeriod]) throw Error("bench: reduce_apply: a parameter is wrong");
  }
}

}  // namespace viva::bench
