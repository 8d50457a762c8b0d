#include "viva/tensor/conv2d.h"

#include <fmt/format.h>

#include <algorithm>

#include "viva/tensor/dnnl_conv2d.h"
#include "viva/tensor/dnnl_execution.h"
#include "viva/tensor/kernel_scope.h"
#include "viva/tensor/require_shape.h"
#include "viva/tensor/shallow_conv2d.h"
#include "viva/tensor/tensor.h"
#include "viva/tensor/winograd.h"

namespace viva {
namespace {

void check_conv2d_axis(const char* axis, std::int64_t size, std::int64_t kernel, std::int64_t stride,
                       std::int64_t padding, std::int64_t dilation) {
  constexpr std::int64_t kMost = 1 << 24;  // sums of a few such numbers and products of two fit well
  const std::int64_t least = std::min({size, kernel, stride, dilation, padding + 1});
  require_shape(
      "conv2d", least > 0 && std::max({size, kernel, stride, dilation, padding}) <= kMost,
      "{} {}, kernel {}, stride {} and dilation {} must be positive, padding {} not negative, and all at most {}", axis,
      size, kernel, stride, dilation, padding, kMost);
  const std::int64_t span = dilation * (kernel - 1) + 1, padded = size + 2 * padding;
  require_shape(
      "conv2d", padded >= span,
      "a kernel of {} with dilation {} spans {}, but {} {} with padding {} on both sides is {}: it must be at least "
      "the span",
      kernel, dilation, span, axis, size, padding, padded);
}

void check_channels(const char* name, std::int64_t channels, std::int64_t groups, std::int64_t block) {
  require_shape("conv2d", channels > 0 && channels % groups == 0,
                "{} {} channels in {} groups: they must be a positive multiple of the groups", channels, name, groups);
  require_shape("conv2d", (block == 1 || block == 8 || block == 16) && channels % block == 0,
                "{} {} channels in blocks of {}: a block has 1, 8 or 16 channels and divides them", channels, name,
                block);
}

bool is_ours(const Conv2dShape& s) {
  return s.algorithm == Conv2dAlgorithm::kWinograd && winograd_available(s) && !dnnl_has_winograd();
}

// One product of the sum that a convolution is: places in input, weight and output.
struct Term {
  std::int64_t input, weight, output;
};

// The place of a channel's first element within an image of `area` pixels.
std::int64_t channel_begin(std::int64_t channel, std::int64_t area, std::int64_t block) {
  return channel / block * area * block + channel % block;
}

// Calls f(Term) for each product, by output element.
template <typename F>
void for_each_term(const Conv2dShape& s, F f) {
  const std::int64_t out_h = s.out_height(), out_w = s.out_width();
  const std::int64_t group_in = s.in_channels / s.groups, group_out = s.out_channels / s.groups;
  const std::int64_t area_in = s.height * s.width, area_out = out_h * out_w, area_kernel = s.kernel_h * s.kernel_w;

  // The taps of one output element of channel `oc` at (y, x).
  const auto taps = [&](std::int64_t n, std::int64_t oc, std::int64_t y, std::int64_t x) {
    const std::int64_t output =
        n * s.out_channels * area_out + channel_begin(oc, area_out, s.output_block) + (y * out_w + x) * s.output_block;
    for (std::int64_t c = 0; c < group_in; ++c) {
      const std::int64_t ic = oc / group_out * group_in + c;
      const std::int64_t image = n * s.in_channels * area_in + channel_begin(ic, area_in, s.input_block);
      const std::int64_t kernel = (oc * group_in + c) * area_kernel;
      for (std::int64_t i = 0; i < s.kernel_h; ++i) {
        const std::int64_t row = y * s.stride_h - s.padding_h + i * s.dilation_h;
        if (row < 0 || row >= s.height) continue;
        for (std::int64_t j = 0; j < s.kernel_w; ++j) {
          const std::int64_t column = x * s.stride_w - s.padding_w + j * s.dilation_w;
          if (column < 0 || column >= s.width) continue;
          f(Term{image + (row * s.width + column) * s.input_block, kernel + i * s.kernel_w + j, output});
        }
      }
    }
  };
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (std::int64_t oc = 0; oc < s.out_channels; ++oc) {
      for (std::int64_t y = 0; y < out_h; ++y) {
        for (std::int64_t x = 0; x < out_w; ++x) taps(n, oc, y, x);
      }
    }
  }
}

// Calls f(channel, place) for each output element.
template <typename F>
void for_each_output(const Conv2dShape& s, F f) {
  const std::int64_t area = s.out_height() * s.out_width();
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (std::int64_t oc = 0; oc < s.out_channels; ++oc) {
      const std::int64_t begin = n * s.out_channels * area + channel_begin(oc, area, s.output_block);
      for (std::int64_t i = 0; i < area; ++i) f(oc, begin + i * s.output_block);
    }
  }
}

}  // namespace

void check_conv2d(const Conv2dShape& s) {
  require_shape("conv2d", s.batch >= 0, "a batch of {} samples: it must not be negative", s.batch);
  require_shape("conv2d", s.groups > 0, "{} groups: there must be at least one", s.groups);
  check_channels("input", s.in_channels, s.groups, s.input_block);
  check_channels("output", s.out_channels, s.groups, s.output_block);
  check_conv2d_axis("height", s.height, s.kernel_h, s.stride_h, s.padding_h, s.dilation_h);
  check_conv2d_axis("width", s.width, s.kernel_w, s.stride_w, s.padding_w, s.dilation_w);
}

Conv2dShape conv2d_shape(const Shape& input, const Shape& weight, Conv2dShape settings) {
  if (input.size() != 4) {
    throw ShapeMismatch("conv2d, input (batch, channels, height, width)", {-1, -1, -1, -1}, input);
  }
  if (weight.size() != 4) {
    throw ShapeMismatch("conv2d, weight (out channels, in channels / groups, kernel height, kernel width)",
                        {-1, -1, -1, -1}, weight);
  }
  settings.batch = input[0];
  settings.in_channels = input[1];
  settings.height = input[2];
  settings.width = input[3];
  settings.out_channels = weight[0];
  settings.kernel_h = weight[2];
  settings.kernel_w = weight[3];
  check_conv2d(settings);
  if (weight != settings.weight_shape()) {
    throw ShapeMismatch(fmt::format("conv2d, weight (out channels, in channels / groups, kernel height, kernel width) "
                                    "for input {} and groups {}",
                                    to_string(input), settings.groups),
                        settings.weight_shape(), weight);
  }
  return settings;
}

template <>
void conv2d_forward<float>(const Conv2dShape& shape, const float* input, const float* weight, const float* bias,
                           float* output, Arena& arena) {
  check_conv2d(shape);
  const KernelScope scope;
  if (is_ours(shape)) return winograd_forward(shape, input, weight, bias, output, arena);
  dnnl_conv2d_forward(shape, input, weight, bias, output, arena);
}

template <>
void conv2d_backward_data<float>(const Conv2dShape& shape, const float* grad_output, const float* weight,
                                 float* grad_input, Arena& arena) {
  check_conv2d(shape);
  const KernelScope scope;
  if (is_ours(shape)) return winograd_backward_data(shape, grad_output, weight, grad_input, arena);
  dnnl_conv2d_backward_data(shape, grad_output, weight, grad_input, arena);
}

template <>
void conv2d_backward_weights<float>(const Conv2dShape& shape, const float* input, const float* grad_output,
                                    float* grad_weight, float* grad_bias, Arena& arena) {
  check_conv2d(shape);
  const KernelScope scope;
  if (is_ours(shape)) {
    return winograd_backward_weights(shape, input, grad_output, grad_weight, grad_bias, arena);
  }
  if (is_shallow(shape) && !dnnl_has_avx512()) {
    return shallow_backward_weights(shape, input, grad_output, grad_weight, grad_bias, arena);
  }
  dnnl_conv2d_backward_weights(shape, input, grad_output, grad_weight, grad_bias, arena);
}

template <>
void conv2d_forward<double>(const Conv2dShape& shape, const double* input, const double* weight, const double* bias,
                            double* output, Arena&) {
  check_conv2d(shape);
  const KernelScope scope;
  for_each_output(shape, [&](std::int64_t oc, std::int64_t i) { output[i] = shape.bias ? bias[oc] : 0; });
  for_each_term(shape, [&](const Term& t) { output[t.output] += input[t.input] * weight[t.weight]; });
  if (!shape.relu) return;
  for_each_output(shape, [&](std::int64_t, std::int64_t i) { output[i] = std::max(output[i], 0.0); });
}

template <>
void conv2d_backward_data<double>(const Conv2dShape& shape, const double* grad_output, const double* weight,
                                  double* grad_input, Arena&) {
  check_conv2d(shape);
  const KernelScope scope;
  std::fill_n(grad_input, element_count(shape.input_shape()), 0.0);
  for_each_term(shape, [&](const Term& t) { grad_input[t.input] += grad_output[t.output] * weight[t.weight]; });
}

template <>
void conv2d_backward_weights<double>(const Conv2dShape& shape, const double* input, const double* grad_output,
                                     double* grad_weight, double* grad_bias, Arena&) {
  check_conv2d(shape);
  const KernelScope scope;
  std::fill_n(grad_weight, element_count(shape.weight_shape()), 0.0);
  for_each_term(shape, [&](const Term& t) { grad_weight[t.weight] += grad_output[t.output] * input[t.input]; });
  if (!shape.bias) return;
  std::fill_n(grad_bias, shape.out_channels, 0.0);
  for_each_output(shape, [&](std::int64_t oc, std::int64_t i) { grad_bias[oc] += grad_output[i]; });
}

}  // namespace viva
