#include <array>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/fma_peak.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each instruction set

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace viva::bench::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kMostLanes = 16;

// Ten chains of x = x·factor + 1, enough to hide the latency of two units, few enough for sixteen registers. Chain c
// begins at c and goes to out[c · lanes]; returns the lanes. The factor is 1, which the compiler must not know.
size_t multiply_add(float* out, float factor, size_t rounds) {
  const hn::CappedTag<float, kMostLanes> d;
  const auto a = hn::Set(d, factor);
  const auto one = hn::Set(d, 1.0F);
  auto x0 = hn::Set(d, 0.0F), x1 = hn::Set(d, 1.0F), x2 = hn::Set(d, 2.0F), x3 = hn::Set(d, 3.0F),
       x4 = hn::Set(d, 4.0F), x5 = hn::Set(d, 5.0F), x6 = hn::Set(d, 6.0F), x7 = hn::Set(d, 7.0F),
       x8 = hn::Set(d, 8.0F), x9 = hn::Set(d, 9.0F);
  for (size_t i = 0; i < rounds; ++i) {
    x0 = hn::MulAdd(x0, a, one);
    x1 = hn::MulAdd(x1, a, one);
    x2 = hn::MulAdd(x2, a, one);
    x3 = hn::MulAdd(x3, a, one);
    x4 = hn::MulAdd(x4, a, one);
    x5 = hn::MulAdd(x5, a, one);
    x6 = hn::MulAdd(x6, a, one);
    x7 = hn::MulAdd(x7, a, one);
    x8 = hn::MulAdd(x8, a, one);
    x9 = hn::MulAdd(x9, a, one);
  }
  const size_t lanes = hn::Lanes(d);
  hn::StoreU(x0, d, out);
  hn::StoreU(x1, d, out + lanes);
  hn::StoreU(x2, d, out + 2 * lanes);
  hn::StoreU(x3, d, out + 3 * lanes);
  hn::StoreU(x4, d, out + 4 * lanes);
  hn::StoreU(x5, d, out + 5 * lanes);
  hn::StoreU(x6, d, out + 6 * lanes);
  hn::StoreU(x7, d, out + 7 * lanes);
  hn::StoreU(x8, d, out + 8 * lanes);
  hn::StoreU(x9, d, out + 9 * lanes);
  return lanes;
}

}  // namespace
}  // namespace viva::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <atomic>

#include "bench/machine.h"
#include "bench/measure.h"
#include "viva/base/error.h"

namespace viva::bench {
namespace {

HWY_EXPORT(multiply_add);

constexpr std::size_t kChains = 10;
constexpr std::size_t kRounds = 1 << 22;  // counts up to 2^24 are exact in float32
constexpr int kCalls = 12;

// The lanes, or 0 where a result is wrong.
std::size_t checked_call(float factor) {
  std::array<float, kChains * HWY_NAMESPACE::kMostLanes> out{};
  const std::size_t lanes = HWY_DYNAMIC_DISPATCH(multiply_add)(out.data(), factor, kRounds);
  for (std::size_t i = 0; i < kChains * lanes; ++i) {
    const std::size_t expected = i / lanes + kRounds;
    if (out[i] != static_cast<float>(expected)) return 0;
  }
  return lanes;
}

}  // namespace

double fma_peak(int threads) {
  const volatile float one = 1;
  std::atomic<std::size_t> lanes_in_all = 0;
  std::atomic<bool> wrong = false;
  const double seconds = seconds_together(threads, [&](int) {
    for (int call = 0; call < kCalls; ++call) {
      const std::size_t lanes = checked_call(one);
      if (lanes == 0) wrong = true;
      lanes_in_all += lanes;
    }
  });
  if (wrong) throw Error("bench: fma_peak: a result is wrong");
  return 2.0 * static_cast<double>(lanes_in_all.load()) * kChains * kRounds / seconds / 1e9;
}

}  // namespace viva::bench
#endif
