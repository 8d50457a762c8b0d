#include "viva/tensor/elementwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "viva/tensor/elementwise.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each instruction set

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace viva::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// At most one cache line a vector, so that whole cache lines are whole vectors on every instruction set.
template <typename T>
using Line = hn::CappedTag<T, 64 / sizeof(T)>;

template <typename T>
void weighted_add_impl(T* out, Weighted<T> a, Weighted<T> b, size_t count) {
  const Line<T> d;
  const auto weight_a = hn::Set(d, a.weight), weight_b = hn::Set(d, b.weight);
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto left = hn::Mul(weight_a, hn::Load(d, a.values + i));
    const auto right = hn::Mul(weight_b, hn::Load(d, b.values + i));
    hn::Store(hn::Add(left, right), d, out + i);
  }
}

template <typename T>
void relu_backward_impl(T* grad, const T* output, size_t count) {
  const Line<T> d;
  const auto zero = hn::Zero(d);
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto positive = hn::Gt(hn::Load(d, output + i), zero);
    hn::Store(hn::IfThenElseZero(positive, hn::Load(d, grad + i)), d, grad + i);
  }
}

void weighted_add_f32(float* out, Weighted<float> a, Weighted<float> b, size_t n) { weighted_add_impl(out, a, b, n); }
void weighted_add_f64(double* out, Weighted<double> a, Weighted<double> b, size_t n) {
  weighted_add_impl(out, a, b, n);
}
void relu_backward_f32(float* grad, const float* output, size_t n) { relu_backward_impl(grad, output, n); }
void relu_backward_f64(double* grad, const double* output, size_t n) { relu_backward_impl(grad, output, n); }

}  // namespace
}  // namespace viva::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace viva {

HWY_EXPORT(weighted_add_f32);
HWY_EXPORT(weighted_add_f64);
HWY_EXPORT(relu_backward_f32);
HWY_EXPORT(relu_backward_f64);

template <>
void weighted_add<float>(float* out, Weighted<float> a, Weighted<float> b, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(weighted_add_f32)(out, a, b, count);
}
template <>
void weighted_add<double>(double* out, Weighted<double> a, Weighted<double> b, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(weighted_add_f64)(out, a, b, count);
}
template <>
void relu_backward<float>(float* grad, const float* output, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(relu_backward_f32)(grad, output, count);
}
template <>
void relu_backward<double>(double* grad, const double* output, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(relu_backward_f64)(grad, output, count);
}

}  // namespace viva
#endif
