#include "viva/tensor/magnitude.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "viva/tensor/magnitude.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each instruction set

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace viva::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// At most one cache line a vector, so that whole cache lines are whole vectors on every instruction set.
template <typename T>
using Line = hn::CappedTag<T, 64 / sizeof(T)>;

// A finite number times zero is a zero, anything else times zero NaN; and a sum keeps a NaN.
template <typename T>
bool all_finite_impl(const T* values, size_t count) {
  const Line<T> d;
  const auto zero = hn::Zero(d);
  auto sum = zero;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) sum = hn::Add(sum, hn::Mul(zero, hn::Load(d, values + i)));
  return hn::AllTrue(d, hn::Eq(sum, zero));
}

template <typename T>
void clamp_impl(T* values, T limit, size_t count) {
  const Line<T> d;
  const auto most = hn::Set(d, limit), least = hn::Set(d, -limit);
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto x = hn::Load(d, values + i);
    // Comparisons with NaN are false.
    const auto below = hn::IfThenElse(hn::Gt(x, most), most, x);
    hn::Store(hn::IfThenElse(hn::Lt(x, least), least, below), d, values + i);
  }
}

// At most four doubles a vector: four sums of them, one for each part of the virtual lanes, hide an addition's latency.
using Quarter = hn::CappedTag<double, kLanes / 4>;

hn::Vec<Quarter> add_square(hn::Vec<Quarter> sum, const double* values) {
  const auto x = hn::Load(Quarter(), values);
  return hn::Add(sum, hn::Mul(x, x));
}
hn::Vec<Quarter> add_square(hn::Vec<Quarter> sum, const float* values) {
  const auto x = hn::PromoteTo(Quarter(), hn::LoadU(hn::Rebind<float, Quarter>(), values));
  return hn::Add(sum, hn::Mul(x, x));
}

template <typename T>
double sum_of_squares_impl(const T* values, size_t count) {
  const Quarter d;
  const size_t step = hn::Lanes(d);
  HWY_ALIGN double lanes[kLanes];
  // Narrow vectors need several passes; the elements are in the first cache by then.
  for (size_t first = 0; first < kLanes; first += 4 * step) {
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    for (size_t i = first; i < count; i += kLanes) {
      // A line of doubles is half the lanes: behind the last one there may be nothing.
      s0 = add_square(s0, values + i);
      if (i + step < count) s1 = add_square(s1, values + i + step);
      if (i + 2 * step < count) s2 = add_square(s2, values + i + 2 * step);
      if (i + 3 * step < count) s3 = add_square(s3, values + i + 3 * step);
    }
    hn::Store(s0, d, lanes + first);
    hn::Store(s1, d, lanes + first + step);
    hn::Store(s2, d, lanes + first + 2 * step);
    hn::Store(s3, d, lanes + first + 3 * step);
  }
  for (size_t width = 1; width < kLanes; width *= 2) {
    for (size_t lane = 0; lane < kLanes; lane += 2 * width) lanes[lane] = lanes[lane] + lanes[lane + width];
  }
  return lanes[0];
}

bool all_finite_f32(const float* values, size_t count) { return all_finite_impl(values, count); }
bool all_finite_f64(const double* values, size_t count) { return all_finite_impl(values, count); }
void clamp_f32(float* values, float limit, size_t count) { clamp_impl(values, limit, count); }
void clamp_f64(double* values, double limit, size_t count) { clamp_impl(values, limit, count); }
double sum_of_squares_f32(const float* values, size_t count) { return sum_of_squares_impl(values, count); }
double sum_of_squares_f64(const double* values, size_t count) { return sum_of_squares_impl(values, count); }

}  // namespace
}  // namespace viva::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace viva {

HWY_EXPORT(all_finite_f32);
HWY_EXPORT(all_finite_f64);
HWY_EXPORT(clamp_f32);
HWY_EXPORT(clamp_f64);
HWY_EXPORT(sum_of_squares_f32);
HWY_EXPORT(sum_of_squares_f64);

template <>
bool all_finite<float>(const float* values, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(all_finite_f32)(values, count);
}
template <>
bool all_finite<double>(const double* values, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(all_finite_f64)(values, count);
}
template <>
void clamp<float>(float* values, float limit, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(clamp_f32)(values, limit, count);
}
template <>
void clamp<double>(double* values, double limit, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(clamp_f64)(values, limit, count);
}
template <>
double sum_of_squares<float>(const float* values, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(sum_of_squares_f32)(values, count);
}
template <>
double sum_of_squares<double>(const double* values, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(sum_of_squares_f64)(values, count);
}

}  // namespace viva
#endif
