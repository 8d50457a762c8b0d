#include "viva/autograd/pointwise_kernels.h"

#include <algorithm>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "viva/autograd/pointwise_kernels.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each instruction set

#include <hwy/highway.h>

#include "viva/tensor/math-inl.h"
#include "viva/tensor/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace viva::autograd::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
namespace math = viva::HWY_NAMESPACE;

template <typename T>
using Tag = math::VectorTag<T>;
template <typename T>
using V = math::Vector<T>;

// A function's value and its derivative at some lanes.
template <typename T>
struct Jet {
  V<T> value, slope;
};

template <typename T>
V<T> sigmoid(V<T> x) {
  const Tag<T> d;
  const V<T> one = hn::Set(d, T{1});
  return hn::Div(one, hn::Add(one, math::NanSafeExp(d, hn::Neg(x))));
}

// The functions, each with its derivative.
template <Unary kOperation, typename T>
Jet<T> jet_of(V<T> x, [[maybe_unused]] V<T> parameter) {
  const Tag<T> d;
  const V<T> zero = hn::Zero(d), one = hn::Set(d, T{1}), half = hn::Set(d, T{0.5});
  if constexpr (kOperation == Unary::kExp) {
    const V<T> y = math::NanSafeExp(d, x);
    return {y, y};
  } else if constexpr (kOperation == Unary::kLog) {
    const V<T> y = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(hn::Inf(d)), hn::Log(d, x));
    return {hn::IfThenElse(hn::Ge(x, zero), y, hn::NaN(d)), hn::Div(one, x)};
  } else if constexpr (kOperation == Unary::kSqrt) {
    const V<T> y = hn::Sqrt(x);
    return {y, hn::Div(half, y)};
  } else if constexpr (kOperation == Unary::kTanh) {
    // 2·sigmoid(2x) - 1 loses the digits of a small x; Highway's function keeps them, but not a NaN.
    const V<T> y = hn::IfThenElse(hn::IsNaN(x), x, hn::Tanh(d, x));
    return {y, hn::NegMulAdd(y, y, one)};
  } else if constexpr (kOperation == Unary::kSigmoid) {
    const V<T> y = sigmoid<T>(x);
    return {y, hn::Mul(y, hn::Sub(one, y))};
  } else if constexpr (kOperation == Unary::kRelu || kOperation == Unary::kLeakyRelu) {
    // Written so that NaN stays NaN.
    const V<T> below = kOperation == Unary::kRelu ? zero : parameter;
    const auto negative = hn::Le(x, zero);
    const V<T> scaled = kOperation == Unary::kRelu ? zero : hn::Mul(below, x);
    return {hn::IfThenElse(negative, scaled, x), hn::IfThenElse(negative, below, one)};
  } else if constexpr (kOperation == Unary::kGelu) {
    // x·Φ(x) with Φ(x) = (1 + erf(x/√2)) / 2; the derivative is Φ(x) + x·φ(x).
    const V<T> bell = math::NanSafeExp(d, hn::Mul(hn::Mul(x, x), hn::Set(d, T{-0.5})));
    const V<T> erf = math::Erf(d, hn::Mul(x, hn::Set(d, static_cast<T>(0.70710678118654752440))), bell);
    const V<T> cumulative = hn::MulAdd(half, erf, half);
    const V<T> density = hn::Mul(bell, hn::Set(d, static_cast<T>(0.39894228040143267794)));
    return {hn::Mul(x, cumulative), hn::MulAdd(x, density, cumulative)};
  } else {
    static_assert(kOperation == Unary::kSilu);
    const V<T> s = sigmoid<T>(x);
    const V<T> y = hn::Mul(x, s);
    return {y, hn::MulAdd(y, hn::Sub(one, s), s)};
  }
}

template <Unary kOperation, typename T>
void unary_loop(T parameter, const T* x, T* out, T* slope, size_t count) {
  const V<T> p = hn::Set(Tag<T>(), parameter);
  math::ForVectors<T>(count, [&](size_t i, size_t n) HWY_ATTR {
    const Jet<T> jet = jet_of<kOperation, T>(math::LoadPart(x + i, n), p);
    math::StorePart<T>(jet.value, out + i, n);
    if (slope != nullptr) math::StorePart<T>(jet.slope, slope + i, n);
  });
}

template <typename T>
void unary_impl(Unary operation, T parameter, const T* x, T* out, T* slope, size_t count) {
  switch (operation) {
    case Unary::kExp:
      return unary_loop<Unary::kExp>(parameter, x, out, slope, count);
    case Unary::kLog:
      return unary_loop<Unary::kLog>(parameter, x, out, slope, count);
    case Unary::kSqrt:
      return unary_loop<Unary::kSqrt>(parameter, x, out, slope, count);
    case Unary::kTanh:
      return unary_loop<Unary::kTanh>(parameter, x, out, slope, count);
    case Unary::kSigmoid:
      return unary_loop<Unary::kSigmoid>(parameter, x, out, slope, count);
    case Unary::kRelu:
      return unary_loop<Unary::kRelu>(parameter, x, out, slope, count);
    case Unary::kLeakyRelu:
      return unary_loop<Unary::kLeakyRelu>(parameter, x, out, slope, count);
    case Unary::kGelu:
      return unary_loop<Unary::kGelu>(parameter, x, out, slope, count);
    case Unary::kSilu:
      return unary_loop<Unary::kSilu>(parameter, x, out, slope, count);
  }
}

template <typename T, typename F>
void binary_loop(const T* a, const T* b, T* out, size_t count, F f) {
  math::ForVectors<T>(count, [&](size_t i, size_t n) HWY_ATTR {
    math::StorePart<T>(f(math::LoadPart(a + i, n), math::LoadPart(b + i, n)), out + i, n);
  });
}

template <typename T>
void binary_impl(Binary operation, const T* a, const T* b, T* out, size_t count) {
  switch (operation) {
    case Binary::kAdd:
      return binary_loop(a, b, out, count, [](V<T> x, V<T> y) HWY_ATTR { return hn::Add(x, y); });
    case Binary::kSubtract:
      return binary_loop(a, b, out, count, [](V<T> x, V<T> y) HWY_ATTR { return hn::Sub(x, y); });
    case Binary::kMultiply:
      return binary_loop(a, b, out, count, [](V<T> x, V<T> y) HWY_ATTR { return hn::Mul(x, y); });
    case Binary::kDivide:
      return binary_loop(a, b, out, count, [](V<T> x, V<T> y) HWY_ATTR { return hn::Div(x, y); });
    case Binary::kNegatedQuotient:
      return binary_loop(a, b, out, count, [](V<T> x, V<T> y) HWY_ATTR { return hn::Neg(hn::Div(x, y)); });
  }
}

template <typename T>
void affine_impl(const T* x, T factor, T offset, T* out, size_t count) {
  const V<T> f = hn::Set(Tag<T>(), factor), o = hn::Set(Tag<T>(), offset);
  math::ForVectors<T>(count, [&](size_t i, size_t n) HWY_ATTR {
    math::StorePart<T>(hn::Add(hn::Mul(f, math::LoadPart(x + i, n)), o), out + i, n);
  });
}

void unary_f32(Unary operation, float p, const float* x, float* out, float* slope, size_t n) {
  unary_impl(operation, p, x, out, slope, n);
}
void unary_f64(Unary operation, double p, const double* x, double* out, double* slope, size_t n) {
  unary_impl(operation, p, x, out, slope, n);
}
void binary_f32(Binary operation, const float* a, const float* b, float* out, size_t n) {
  binary_impl(operation, a, b, out, n);
}
void binary_f64(Binary operation, const double* a, const double* b, double* out, size_t n) {
  binary_impl(operation, a, b, out, n);
}
void affine_f32(const float* x, float factor, float offset, float* out, size_t n) {
  affine_impl(x, factor, offset, out, n);
}
void affine_f64(const double* x, double factor, double offset, double* out, size_t n) {
  affine_impl(x, factor, offset, out, n);
}

}  // namespace
}  // namespace viva::autograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace viva::autograd {
namespace {

HWY_EXPORT(unary_f32);
HWY_EXPORT(unary_f64);
HWY_EXPORT(binary_f32);
HWY_EXPORT(binary_f64);
HWY_EXPORT(affine_f32);
HWY_EXPORT(affine_f64);

std::size_t count_of(const Tensor& tensor) { return static_cast<std::size_t>(tensor.size()); }

}  // namespace

void unary(Unary operation, double parameter, const Tensor& x, const Tensor& out, const Tensor* slope) {
  visit_floating(x.dtype(), "a function of each element", [&](auto type) {
    using T = decltype(type);
    T* const slopes = slope == nullptr ? nullptr : slope->mutable_values<T>().data();
    const T* const from = x.values<T>().data();
    T* const to = out.mutable_values<T>().data();
    if constexpr (std::is_same_v<T, float>) {
      HWY_DYNAMIC_DISPATCH(unary_f32)(operation, static_cast<T>(parameter), from, to, slopes, count_of(x));
    } else {
      HWY_DYNAMIC_DISPATCH(unary_f64)(operation, parameter, from, to, slopes, count_of(x));
    }
  });
}

void binary(Binary operation, const Tensor& a, const Tensor& b, const Tensor& out) {
  visit_floating(a.dtype(), "an operation on two tensors", [&](auto type) {
    using T = decltype(type);
    const T *const x = a.values<T>().data(), *const y = b.values<T>().data();
    T* const to = out.mutable_values<T>().data();
    if constexpr (std::is_same_v<T, float>) {
      HWY_DYNAMIC_DISPATCH(binary_f32)(operation, x, y, to, count_of(a));
    } else {
      HWY_DYNAMIC_DISPATCH(binary_f64)(operation, x, y, to, count_of(a));
    }
  });
}

void affine(const Tensor& x, double factor, double offset, const Tensor& out) {
  visit_floating(x.dtype(), "an operation with a number", [&](auto type) {
    using T = decltype(type);
    const T* const from = x.values<T>().data();
    T* const to = out.mutable_values<T>().data();
    if constexpr (std::is_same_v<T, float>) {
      HWY_DYNAMIC_DISPATCH(affine_f32)(from, static_cast<T>(factor), static_cast<T>(offset), to, count_of(x));
    } else {
      HWY_DYNAMIC_DISPATCH(affine_f64)(from, factor, offset, to, count_of(x));
    }
  });
}

void fill(const Tensor& out, double value) {
  visit_floating(out.dtype(), "fill", [&](auto type) {
    std::ranges::fill(out.mutable_values<decltype(type)>(), static_cast<decltype(type)>(value));
  });
}

void copy(const Tensor& x, const Tensor& out) { std::ranges::copy(x.bytes(), out.mutable_bytes().begin()); }

}  // namespace viva::autograd
#endif
