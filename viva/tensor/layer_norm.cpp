#include "viva/tensor/layer_norm.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "viva/tensor/layer_norm.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each instruction set

#include <hwy/highway.h>

#include "viva/tensor/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace viva::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
void forward_impl(const LayerNormShape& shape, const T* x, const T* weight, const T* bias, T* out,
                  const LayerNormStatistics<T>& statistics) {
  const VectorTag<T> d;
  const auto width = static_cast<size_t>(shape.width);
  const T share = static_cast<T>(1.0 / static_cast<double>(shape.width));
  for (std::int64_t r = 0; r < shape.rows; ++r, x += width, out += width) {
    auto sum = hn::Zero(d);
    ForVectors<T>(width, [&](size_t i, size_t n) HWY_ATTR { sum = hn::Add(sum, LoadPart(x + i, n)); });
    const auto mean = hn::Set(d, SumOf<T>(sum) * share);
    auto squares = hn::Zero(d);
    ForVectors<T>(width, [&](size_t i, size_t n) HWY_ATTR {
      const auto distance = hn::IfThenElseZero(hn::FirstN(d, n), hn::Sub(LoadPart(x + i, n), mean));
      squares = hn::MulAdd(distance, distance, squares);
    });
    const T scale = T{1} / std::sqrt(SumOf<T>(squares) * share + static_cast<T>(shape.eps));
    statistics.mean[r] = hn::GetLane(mean);
    statistics.scale[r] = scale;
    const auto scales = hn::Set(d, scale);
    ForVectors<T>(width, [&](size_t i, size_t n) HWY_ATTR {
      const auto normal = hn::Mul(hn::Sub(LoadPart(x + i, n), mean), scales);
      StorePart<T>(hn::MulAdd(normal, LoadPart(weight + i, n), LoadPart(bias + i, n)), out + i, n);
    });
  }
}

// With h = (x - mean)·scale and g = weight·dy: dx = scale·(g - mean(g) - h·mean(g·h)).
template <typename T>
void backward_impl(const LayerNormShape& shape, const T* x, const T* weight, const LayerNormStatistics<T>& statistics,
                   const T* dy, T* dx, T* dweight, T* dbias) {
  const VectorTag<T> d;
  const auto width = static_cast<size_t>(shape.width);
  const T share = static_cast<T>(1.0 / static_cast<double>(shape.width));
  std::fill(dweight, dweight + width, T{0});
  std::fill(dbias, dbias + width, T{0});
  for (std::int64_t r = 0; r < shape.rows; ++r, x += width, dy += width, dx += width) {
    const auto mean = hn::Set(d, statistics.mean[r]), scale = hn::Set(d, statistics.scale[r]);
    auto sum_g = hn::Zero(d), sum_gh = hn::Zero(d);
    ForVectors<T>(width, [&](size_t i, size_t n) HWY_ATTR {
      // Beyond the row's end dy is zero, and so is all that is added.
      const auto gradient = LoadPart(dy + i, n);
      const auto h = hn::Mul(hn::Sub(LoadPart(x + i, n), mean), scale);
      const auto g = hn::Mul(gradient, LoadPart(weight + i, n));
      StorePart<T>(hn::MulAdd(gradient, h, LoadPart(dweight + i, n)), dweight + i, n);
      StorePart<T>(hn::Add(gradient, LoadPart(dbias + i, n)), dbias + i, n);
      sum_g = hn::Add(sum_g, g);
      sum_gh = hn::MulAdd(g, h, sum_gh);
    });
    const auto mean_g = hn::Set(d, SumOf<T>(sum_g) * share), mean_gh = hn::Set(d, SumOf<T>(sum_gh) * share);
    ForVectors<T>(width, [&](size_t i, size_t n) HWY_ATTR {
      const auto h = hn::Mul(hn::Sub(LoadPart(x + i, n), mean), scale);
      const auto g = hn::Mul(LoadPart(dy + i, n), LoadPart(weight + i, n));
      StorePart<T>(hn::Mul(scale, hn::NegMulAdd(h, mean_gh, hn::Sub(g, mean_g))), dx + i, n);
    });
  }
}

void forward_f32(const LayerNormShape& shape, const float* x, const float* weight, const float* bias, float* out,
                 const LayerNormStatistics<float>& statistics) {
  forward_impl(shape, x, weight, bias, out, statistics);
}
void forward_f64(const LayerNormShape& shape, const double* x, const double* weight, const double* bias, double* out,
                 const LayerNormStatistics<double>& statistics) {
  forward_impl(shape, x, weight, bias, out, statistics);
}
void backward_f32(const LayerNormShape& shape, const float* x, const float* weight,
                  const LayerNormStatistics<float>& statistics, const float* dy, float* dx, float* dweight,
                  float* dbias) {
  backward_impl(shape, x, weight, statistics, dy, dx, dweight, dbias);
}
void backward_f64(const LayerNormShape& shape, const double* x, const double* weight,
                  const LayerNormStatistics<double>& statistics, const double* dy, double* dx, double* dweight,
                  double* dbias) {
  backward_impl(shape, x, weight, statistics, dy, dx, dweight, dbias);
}

}  // namespace
}  // namespace viva::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace viva {

HWY_EXPORT(forward_f32);
HWY_EXPORT(forward_f64);
HWY_EXPORT(backward_f32);
HWY_EXPORT(backward_f64);

template <>
void layer_norm_forward<float>(const LayerNormShape& shape, const float* x, const float* weight, const float* bias,
                               float* out, const LayerNormStatistics<float>& statistics) {
  HWY_DYNAMIC_DISPATCH(forward_f32)(shape, x, weight, bias, out, statistics);
}
template <>
void layer_norm_forward<double>(const LayerNormShape& shape, const double* x, const double* weight, const double* bias,
                                double* out, const LayerNormStatistics<double>& statistics) {
  HWY_DYNAMIC_DISPATCH(forward_f64)(shape, x, weight, bias, out, statistics);
}
template <>
void layer_norm_backward<float>(const LayerNormShape& shape, const float* x, const float* weight,
                                const LayerNormStatistics<float>& statistics, const float* dy, float* dx,
                                float* dweight, float* dbias) {
  HWY_DYNAMIC_DISPATCH(backward_f32)(shape, x, weight, statistics, dy, dx, dweight, dbias);
}
template <>
void layer_norm_backward<double>(const LayerNormShape& shape, const double* x, const double* weight,
                                 const LayerNormStatistics<double>& statistics, const double* dy, double* dx,
                                 double* dweight, double* dbias) {
  HWY_DYNAMIC_DISPATCH(backward_f64)(shape, x, weight, statistics, dy, dx, dweight, dbias);
}

}  // namespace viva
#endif
