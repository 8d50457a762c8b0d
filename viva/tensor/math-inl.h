// Vector functions for kernels that are compiled once for each instruction set.

// Highway's toggle in place of #pragma once: the file is included once for each instruction set.
#if defined(VIVA_TENSOR_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIVA_TENSOR_MATH_INL_H_
#undef VIVA_TENSOR_MATH_INL_H_
#else
#define VIVA_TENSOR_MATH_INL_H_
#endif

#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace viva::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Highway's exponential of NaN is 0, which would hide it.
template <class D, class V = hn::Vec<D>>
V NanSafeExp(D d, V x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, x));
}

// c[0] + c[1]·x + c[2]·x² + …
template <class D, class V = hn::Vec<D>, size_t kCount>
V Polynomial(D d, V x, const hn::TFromD<D> (&c)[kCount]) {
  V sum = hn::Set(d, c[kCount - 1]);
  for (size_t i = kCount - 1; i-- > 0;) sum = hn::MulAdd(sum, x, hn::Set(d, c[i]));
  return sum;
}

// Chebyshev fits, made by tools/erf_coefficients.py: erf(x) = x·near(x²) up to 1, and beyond it
// erfc(x) = exp(-x²)·far(1 / (1 + x/2)) up to kEnd, where nothing is left of it.
template <typename T>
struct ErfFit;
template <>
struct ErfFit<float> {
  static constexpr float kEnd = 4;
  static constexpr float kNear[] = {1.12837916584835095F,     -0.37612626666720331F,   0.112835947151602177F,
                                    -0.0268542120106264124F,  0.00518908742343397399F, -0.000801686428716586953F,
                                    0.0000787587506268548834F};
  static constexpr float kFar[] = {-0.000164236387081617662F, 0.285061620115570627F,  0.258751366385519118F,
                                   0.351030323178788544F,     -0.110208294055693828F, 0.57126517581198151F,
                                   -0.476525274384609331F,    0.120852433163171017F};
};
template <>
struct ErfFit<double> {
  static constexpr double kEnd = 6;
  static constexpr double kNear[] = {1.12837916709551257,     -0.376126389031837481,     0.112837916709548787,
                                     -0.0268661706450767932,  0.00522397762481801447,    -0.000854832698083378991,
                                     0.000120553311116427109, -0.0000149255952668311816, 1.6461000484121368e-6,
                                     -1.6350312701054695e-7,  1.46597752740474358e-8,    -1.13728488567916737e-9,
                                     5.9571761477489114e-11};
  static constexpr double kFar[] = {1.62422847400775906e-7, 0.282088572932022902,  0.282205141737662301,
                                    0.245629758166419056,   0.185316412975861975,  0.0347789766883714377,
                                    0.194832338995249526,   -0.672058782219028899, 1.39072435472766126,
                                    -2.54857951516277219,   3.31417899390741177,   -2.80846962008124903,
                                    1.49932738619925879,    -0.464150310051270232, 0.0641770995699775654};
};

// erf(x), given exp(-x²), which callers have need of anyway. The error is about one unit in the last place of 1.
template <class D, class V = hn::Vec<D>>
V Erf(D d, V x, V exp_of_minus_square) {
  using T = hn::TFromD<D>;
  const V one = hn::Set(d, T{1}), size = hn::Abs(x);
  const V near = hn::Mul(size, Polynomial(d, hn::Mul(x, x), ErfFit<T>::kNear));
  const V t = hn::Div(one, hn::MulAdd(size, hn::Set(d, T{0.5}), one));
  const V far = hn::NegMulAdd(exp_of_minus_square, Polynomial(d, t, ErfFit<T>::kFar), one);
  const V beyond = hn::IfThenElse(hn::Gt(size, hn::Set(d, ErfFit<T>::kEnd)), one, far);
  // NaN compares as not less: it comes through `far`.
  return hn::CopySign(hn::IfThenElse(hn::Lt(size, one), near, beyond), x);
}

}  // namespace viva::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
