// Two-dimensional pooling with its gradients, vectorised over blocks of channels.
#pragma once

#include <cstdint>
#include <type_traits>

#include "viva/base/error.h"

namespace viva {

// input is (batch, channels, height, width), output (batch, channels, out_height, out_width), row-major; padding is on
// both sides of an axis and at most half a kernel, as in PyTorch. With channel_block b both are stored as
// (batch, channels / b, height, width, b) instead: see conv2d.h. That is two to four times
// as quick.
struct Pool2dShape {
  std::int64_t batch = 0, channels = 1, height = 1, width = 1;
  std::int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, padding_h = 0, padding_w = 0;
  std::int64_t channel_block = 1;

  std::int64_t out_height() const { return (height + 2 * padding_h - kernel_h) / stride_h + 1; }
  std::int64_t out_width() const { return (width + 2 * padding_w - kernel_w) / stride_w + 1; }
  Shape input_shape() const { return {batch, channels, height, width}; }
  Shape output_shape() const { return {batch, channels, out_height(), out_width()}; }
  bool operator==(const Pool2dShape&) const = default;
};

// InvalidShape where `shape` is impossible by itself. A batch of zero samples is possible.
void check_pool2d(const Pool2dShape& shape);

// `settings` with batch, channels and sizes taken from an input's shape. ShapeMismatch where that has not four axes,
// InvalidShape as above.
Pool2dShape pool2d_shape(const Shape& input, Pool2dShape settings);

// The pooling whose one window is the whole image: for global averages.
Pool2dShape global_pool2d_shape(const Shape& input);

// The four operations check their shape and overwrite their results, on the calling thread alone. T is float or double.

// output = the window's largest element, NaN where there is one. index, stored as output, gets its place in the window,
// counted row by row: the first of equals, the last NaN. A window has at most 65,536 places.
template <typename T>
void max_pool2d_forward(const Pool2dShape& shape, const T* input, std::type_identity_t<T>* output,
                        std::uint16_t* index);

// Adds grad_output to the elements that `index` names. A ReLU before the pooling needs no mask of its own size: it is
// the same to give relu_backward(grad_output, output) in here.
template <typename T>
void max_pool2d_backward(const Pool2dShape& shape, const T* grad_output, const std::uint16_t* index,
                         std::type_identity_t<T>* grad_input);

// output = the window's sum over its number of places, padding counted (PyTorch's count_include_pad).
template <typename T>
void average_pool2d_forward(const Pool2dShape& shape, const T* input, std::type_identity_t<T>* output);

template <typename T>
void average_pool2d_backward(const Pool2dShape& shape, const T* grad_output, std::type_identity_t<T>* grad_input);

}  // namespace viva
