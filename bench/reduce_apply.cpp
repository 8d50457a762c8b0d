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

ReduceApplyPass::ReduceApplyPass(std::int64_t elements, int passes)
    : plan_(/*num_workers=*/2, /*num_executors=*/2),
      initial_{"theta", Tensor::zeros({elements})},
      left_(repeating(elements, kLeftPeriod)),
      right_(repeating(elements, kRightPeriod)),
      partials_{{&left_, double{kWeight}}, {&right_, double{kWeight}}},
      given_(/*batches=*/1, /*params=*/1),
      passes_(passes) {
  const std::span<const Param> params(&initial_, 1);
  const optim::Layout layout(params);
  GradSink sink(layout, left_);
  sink.grad(0);
  given_.record(0, sink);
}

double ReduceApplyPass::measure(int threads) {
  const optim::FlatState state(optim::sgd_momentum(double{kLr}, double{kMomentum}), std::span(&initial_, 1));
  const double seconds = seconds_together(threads, [&](int thread) {
    const KernelScope scope;
    distributed::ReduceApply reduce_apply(plan_, state.layout(), state.layout().part(thread, threads));
    for (int pass = 0; pass < passes_; ++pass) reduce_apply.run(state, partials_, given_, {.gradient = double{kScale}});
  });
  check(state);
  const auto elements = static_cast<double>(initial_.value.size());
  return 6.0 * sizeof(float) * elements * passes_ / seconds / 1e9;
}

void ReduceApplyPass::check(const optim::FlatState& state) const {
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
