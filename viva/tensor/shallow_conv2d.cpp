#include "viva/tensor/shallow_conv2d.h"

#include <algorithm>

#include "viva/tensor/tensor.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "viva/tensor/shallow_conv2d.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each instruction set

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace viva::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A block has 8 or 16 channels.
using ShallowTag = hn::CappedTag<float, 8>;
constexpr int kTaps = 9;

// `s` has no padding. Adds to sums, (10, lanes), what one sample gives for one vector of output channels and one input
// channel: the gradients of the nine taps, and the sum of grad_output. `from` is that vector's first element, blocks of
// s.output_block apart.
HWY_ATTR void add_taps(const Conv2dShape& s, const float* channel, const float* from, float* sums) {
  const ShallowTag d;
  const auto lanes = hn::Lanes(d);
  hn::Vec<ShallowTag> taps[kTaps], total = hn::Zero(d);
  for (auto& tap : taps) tap = hn::Zero(d);
  for (int64_t y = 0; y < s.out_height(); ++y) {
    const float* const row = channel + y * s.width;
    for (int64_t x = 0; x < s.out_width(); ++x, from += s.output_block) {
      const auto grad = hn::LoadU(d, from);
      for (int tap = 0; tap < kTaps; ++tap) {
        taps[tap] = hn::MulAdd(grad, hn::Set(d, row[tap / 3 * s.width + x + tap % 3]), taps[tap]);
      }
      total = hn::Add(total, grad);
    }
  }
  const auto add = [&](size_t i, auto value)
                       HWY_ATTR { hn::StoreU(hn::Add(hn::LoadU(d, sums + i * lanes), value), d, sums + i * lanes); };
  for (size_t tap = 0; tap < kTaps; ++tap) add(tap, taps[tap]);
  add(kTaps, total);
}

// Adds the gradients of `samples` samples, without padding, to grad_weight and grad_bias.
void add_samples(const Conv2dShape& s, int64_t samples, const float* input, const float* grad_output,
                 float* grad_weight, float* grad_bias) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(ShallowTag()));
  const int64_t in_area = s.height * s.width, out_area = s.out_height() * s.out_width();
  for (int64_t o = 0; o < s.out_channels; o += lanes) {
    const int64_t place = o / s.output_block * s.output_block * out_area + o % s.output_block;
    for (int64_t c = 0; c < s.in_channels; ++c) {
      HWY_ALIGN float sums[(kTaps + 1) * 8] = {};
      for (int64_t n = 0; n < samples; ++n) {
        add_taps(s, input + (n * s.in_channels + c) * in_area, grad_output + n * s.out_channels * out_area + place,
                 sums);
      }
      for (int64_t lane = 0; lane < lanes; ++lane) {
        float* const weights = grad_weight + ((o + lane) * s.in_channels + c) * kTaps;
        for (int tap = 0; tap < kTaps; ++tap) weights[tap] += sums[tap * lanes + lane];
        if (c == 0 && s.bias) grad_bias[o + lane] += sums[kTaps * lanes + lane];
      }
    }
  }
}

}  // namespace
}  // namespace viva::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace viva {

HWY_EXPORT(add_samples);

namespace {

// The images with their padding, (images, s.height + 2 · s.padding_h, s.width + 2 · s.padding_w).
const float* with_padding(const Conv2dShape& s, std::int64_t images, const float* from, Arena& arena) {
  if (s.padding_h == 0 && s.padding_w == 0) return from;
  const std::int64_t height = s.height + 2 * s.padding_h, width = s.width + 2 * s.padding_w;
  const auto padded = arena.allocate<float>(static_cast<std::size_t>(images * height * width));
  std::fill(padded.begin(), padded.end(), 0.0F);
  for (std::int64_t row = 0; row < images * s.height; ++row) {
    const std::int64_t to = row / s.height * height + s.padding_h + row % s.height;
    std::copy_n(from + row * s.width, s.width, padded.data() + to * width + s.padding_w);
  }
  return padded.data();
}

}  // namespace

bool is_shallow(const Conv2dShape& s) {
  return s.precision == Precision::kF32 && s.in_channels <= 4 && s.kernel_h == 3 && s.kernel_w == 3 &&
         s.stride_h == 1 && s.stride_w == 1 && s.dilation_h == 1 && s.dilation_w == 1 && s.groups == 1 &&
         s.output_block > 1;
}

void shallow_backward_weights(const Conv2dShape& s, const float* input, const float* grad_output, float* grad_weight,
                              float* grad_bias, Arena& arena) {
  Conv2dShape inner = s;
  inner.height += 2 * s.padding_h;
  inner.width += 2 * s.padding_w;
  inner.padding_h = inner.padding_w = 0;
  std::fill_n(grad_weight, element_count(s.weight_shape()), 0.0F);
  if (s.bias) std::fill_n(grad_bias, s.out_channels, 0.0F);
  for_each_slice(s.batch, [&](std::int64_t begin, std::int64_t size) {
    const Arena::Scope scope(arena);
    const float* const images = input + begin * s.in_channels * s.height * s.width;
    const float* const grads = grad_output + begin * s.out_channels * s.out_height() * s.out_width();
    HWY_DYNAMIC_DISPATCH(add_samples)
    (inner, size, with_padding(s, size * s.in_channels, images, arena), grads, grad_weight, grad_bias);
  });
}

}  // namespace viva
#endif
