#include "viva/tensor/pool2d.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "viva/tensor/kernel_scope.h"
#include "viva/tensor/pool2d_blocked.h"
#include "viva/tensor/pool2d_plain.h"
#include "viva/tensor/require_shape.h"

namespace viva {
namespace {

void check_pool2d_axis(const char* axis, std::int64_t size, std::int64_t kernel, std::int64_t stride,
                       std::int64_t padding) {
  constexpr std::int64_t kMost = 1 << 24;  // sums of a few such numbers and products of two fit well
  require_shape("pool2d",
                std::min({size, kernel, stride, padding + 1}) > 0 && std::max({size, kernel, stride}) <= kMost,
                "{} {}, kernel {} and stride {} must be positive, padding {} not negative, and all at most {}", axis,
                size, kernel, stride, padding, kMost);
  require_shape("pool2d", padding <= kernel / 2, "padding {} of the {} must be at most half the kernel of {}", padding,
                axis, kernel);
  const std::int64_t padded = size + 2 * padding;
  require_shape("pool2d", padded >= kernel,
                "{} {} with padding {} on both sides is {}: it must be at least the kernel of {}", axis, size, padding,
                padded, kernel);
}

void check_max_pool2d(const Pool2dShape& s) {
  constexpr std::int64_t kMost = std::int64_t{std::numeric_limits<std::uint16_t>::max()} + 1;
  check_pool2d(s);
  require_shape("pool2d", s.kernel_h * s.kernel_w <= kMost, "a kernel of {} x {} has more than {} places", s.kernel_h,
                s.kernel_w, kMost);
}

}  // namespace

void check_pool2d(const Pool2dShape& s) {
  require_shape("pool2d", s.batch >= 0 && s.channels > 0,
                "batch {} must not be negative and channels {} must be positive", s.batch, s.channels);
  require_shape(
      "pool2d",
      (s.channel_block == 1 || s.channel_block == 8 || s.channel_block == 16) && s.channels % s.channel_block == 0,
      "{} channels in blocks of {}: a block has 1, 8 or 16 channels and divides them", s.channels, s.channel_block);
  check_pool2d_axis("height", s.height, s.kernel_h, s.stride_h, s.padding_h);
  check_pool2d_axis("width", s.width, s.kernel_w, s.stride_w, s.padding_w);
}

Pool2dShape pool2d_shape(const Shape& input, Pool2dShape settings) {
  if (input.size() != 4) {
    throw ShapeMismatch("pool2d, input (batch, channels, height, width)", {-1, -1, -1, -1}, input);
  }
  settings.batch = input[0];
  settings.channels = input[1];
  settings.height = input[2];
  settings.width = input[3];
  check_pool2d(settings);
  return settings;
}

Pool2dShape global_pool2d_shape(const Shape& input) {
  if (input.size() != 4) return pool2d_shape(input, {});
  return pool2d_shape(input, {.kernel_h = input[2], .kernel_w = input[3]});
}

template <typename T>
void max_pool2d_forward(const Pool2dShape& shape, const T* input, std::type_identity_t<T>* output,
                        std::uint16_t* index) {
  check_max_pool2d(shape);
  const KernelScope scope;
  shape.channel_block == 1 ? pool2d_plain::max_forward(shape, input, output, index)
                           : pool2d_blocked::max_forward(shape, input, output, index);
}

template <typename T>
void max_pool2d_backward(const Pool2dShape& shape, const T* grad_output, const std::uint16_t* index,
                         std::type_identity_t<T>* grad_input) {
  check_max_pool2d(shape);
  const KernelScope scope;
  shape.channel_block == 1 ? pool2d_plain::max_backward(shape, grad_output, index, grad_input)
                           : pool2d_blocked::max_backward(shape, grad_output, index, grad_input);
}

template <typename T>
void average_pool2d_forward(const Pool2dShape& shape, const T* input, std::type_identity_t<T>* output) {
  check_pool2d(shape);
  const KernelScope scope;
  shape.channel_block == 1 ? pool2d_plain::average_forward(shape, input, output)
                           : pool2d_blocked::average_forward(shape, input, output);
}

template <typename T>
void average_pool2d_backward(const Pool2dShape& shape, const T* grad_output, std::type_identity_t<T>* grad_input) {
  check_pool2d(shape);
  const KernelScope scope;
  shape.channel_block == 1 ? pool2d_plain::average_backward(shape, grad_output, grad_input)
                           : pool2d_blocked::average_backward(shape, grad_output, grad_input);
}

template void max_pool2d_forward<float>(const Pool2dShape&, const float*, float*, std::uint16_t*);
template void max_pool2d_backward<float>(const Pool2dShape&, const float*, const std::uint16_t*, float*);
template void average_pool2d_forward<float>(const Pool2dShape&, const float*, float*);
template void average_pool2d_backward<float>(const Pool2dShape&, const float*, float*);
template void max_pool2d_forward<double>(const Pool2dShape&, const double*, double*, std::uint16_t*);
template void max_pool2d_backward<double>(const Pool2dShape&, const double*, const std::uint16_t*, double*);
template void average_pool2d_forward<double>(const Pool2dShape&, const double*, double*);
template void average_pool2d_backward<double>(const Pool2dShape&, const double*, double*);

}  // namespace viva
