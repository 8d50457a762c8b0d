#include "viva/tensor/softmax.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "viva/base/aligned_buffer.h"
#include "viva/base/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "viva/tensor/softmax.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each instruction set

#include <hwy/highway.h>

#include "viva/tensor/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace viva::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// values[i] = exp(values[i] - shift) over whole cache lines.
template <typename T>
void exp_shifted_impl(T* values, T shift, size_t count) {
  const hn::CappedTag<T, 64 / sizeof(T)> d;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto x = hn::Sub(hn::Load(d, values + i), hn::Set(d, shift));
    hn::Store(NanSafeExp(d, x), d, values + i);
  }
}

void exp_shifted_f32(float* values, float shift, size_t count) { exp_shifted_impl(values, shift, count); }
void exp_shifted_f64(double* values, double shift, size_t count) { exp_shifted_impl(values, shift, count); }

}  // namespace
}  // namespace viva::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace viva {
namespace {

HWY_EXPORT(exp_shifted_f32);
HWY_EXPORT(exp_shifted_f64);

void exp_shifted(float* values, float shift, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(exp_shifted_f32)(values, shift, count);
}
void exp_shifted(double* values, double shift, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(exp_shifted_f64)(values, shift, count);
}

template <typename T>
double cross_entropy_impl(const T* logits, std::span<const std::int32_t> labels, std::int64_t classes, T* grad, T scale,
                          Arena& arena, const CrossEntropyOptions& options) {
  const auto width = static_cast<std::size_t>(classes);
  const double spread = options.label_smoothing / static_cast<double>(classes), rest = 1 - options.label_smoothing;
  // A row alone, padded to whole cache lines: the exponential has one form, whatever the number of classes.
  const auto exps = arena.allocate<T>(round_up(width, kAlignment / sizeof(T)));
  double loss = 0;
  for (std::size_t r = 0; r < labels.size(); ++r) {
    const T* row = logits + r * width;
    T* const grad_row = grad == nullptr ? nullptr : grad + r * width;
    const std::int32_t label = labels[r];
    if (options.ignore_label && label == *options.ignore_label) {
      if (grad != nullptr) std::fill(grad_row, grad_row + width, T{0});
      continue;
    }
    if (label < 0 || label >= classes) throw IndexOutOfBounds(fmt::format("class of sample {}", r), label, classes);

    const T largest = *std::max_element(row, row + width);
    std::copy(row, row + width, exps.begin());
    std::fill(exps.begin() + static_cast<std::ptrdiff_t>(width), exps.end(), largest);
    exp_shifted(exps.data(), largest, exps.size());
    T sum = 0;
    for (std::size_t c = 0; c < width; ++c) sum += exps[c];
    const double log_sum = std::log(static_cast<double>(sum)), shift = static_cast<double>(largest);
    loss += rest * (log_sum - (static_cast<double>(row[label]) - shift));
    if (spread > 0) {
      for (std::size_t c = 0; c < width; ++c) loss += spread * (log_sum - (static_cast<double>(row[c]) - shift));
    }

    if (grad == nullptr) continue;
    const T factor = scale / sum;
    for (std::size_t c = 0; c < width; ++c) grad_row[c] = factor * exps[c];
    if (spread > 0) {
      for (std::size_t c = 0; c < width; ++c) grad_row[c] -= scale * static_cast<T>(spread);
    }
    grad_row[label] -= scale * static_cast<T>(rest);
  }
  return loss;
}

}  // namespace

template <>
double softmax_cross_entropy<float>(const float* logits, std::span<const std::int32_t> labels, std::int64_t classes,
                                    float* grad, float scale, Arena& arena, const CrossEntropyOptions& options) {
  return cross_entropy_impl(logits, labels, classes, grad, scale, arena, options);
}
template <>
double softmax_cross_entropy<double>(const double* logits, std::span<const std::int32_t> labels, std::int64_t classes,
                                     double* grad, double scale, Arena& arena, const CrossEntropyOptions& options) {
  return cross_entropy_impl(logits, labels, classes, grad, scale, arena, options);
}

}  // namespace viva
#endif
