#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/bandwidth.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each instruction set

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace viva::bench::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// x += a·y; `count` is a multiple of the lanes.
void add_multiple(float* HWY_RESTRICT x, float a, const float* HWY_RESTRICT y, size_t count) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, a);
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::Store(hn::MulAdd(factor, hn::Load(d, y + i), hn::Load(d, x + i)), d, x + i);
  }
}

}  // namespace
}  // namespace viva::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <span>

#include "bench/machine.h"
#include "bench/measure.h"
#include "viva/base/error.h"

namespace viva::bench {
namespace {

HWY_EXPORT(add_multiple);

constexpr float kFactor = 2;
constexpr std::size_t kBlock = 4096;  // threads' ranges begin at multiples of this

}  // namespace

Bandwidth::Bandwidth(std::int64_t elements, int passes)
    : x_(Tensor::zeros({elements / static_cast<std::int64_t>(kBlock) * static_cast<std::int64_t>(kBlock)})),
      y_(Tensor::zeros(x_.shape())),
      passes_(passes) {
  const std::span<float> y = y_.mutable_values<float>();
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i % 5);
}

double Bandwidth::measure(int threads) const {
  const std::span<float> x = x_.mutable_values<float>();
  const std::span<const float> y = y_.values<float>();
  std::fill(x.begin(), x.end(), 0.0F);
  const std::size_t blocks = x.size() / kBlock, parts = static_cast<std::size_t>(threads);
  const double seconds = seconds_together(threads, [&](int thread) {
    const auto part = static_cast<std::size_t>(thread);
    const std::size_t begin = blocks * part / parts * kBlock, end = blocks * (part + 1) / parts * kBlock;
    for (int pass = 0; pass < passes_; ++pass) {
      HWY_DYNAMIC_DISPATCH(add_multiple)(x.data() + begin, kFactor, y.data() + begin, end - begin);
    }
  });
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] != static_cast<float>(passes_) * kFactor * y[i]) throw Error("bench: bandwidth: a sum is wrong");
  }
  return 3.0 * sizeof(float) * static_cast<double>(x.size()) * passes_ / seconds / 1e9;
}

}  // namespace viva::bench
#endif
