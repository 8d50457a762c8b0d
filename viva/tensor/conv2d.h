// Two-dimensional convolutions with their gradients: float32 through oneDNN, float64 by plain loops, each on the
// calling thread alone. The float64 form is the reference that the tests measure the float32 form by.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "viva/base/error.h"
#include "viva/tensor/arena.h"
#include "viva/tensor/precision.h"

namespace viva {

// Winograd's minimal filtering (Lavin, Gray, "Fast algorithms for convolutional neural networks", 2016) takes fewer
// multiplications and rounds more coarsely.
enum class Conv2dAlgorithm { kDirect, kWinograd };

// input is (batch, in_channels, height, width), weight (out_channels, in_channels / groups, kernel_h, kernel_w), bias
// (out_channels), output (batch, out_channels, out_height, out_width); all are row-major, and mean what they mean in
// PyTorch. With `relu` negative results become zero (and in float32 NaN too: oneDNN takes the maximum with zero).
//
// With input_block b, the input is stored as (batch, in_channels / b, height, width, b) instead, and likewise the
// output with output_block: kernels work on blocks of channel_block() channels, and between operations that use the
// same block nothing needs reordering.
struct Conv2dShape {
  std::int64_t batch = 0, in_channels = 1, height = 1, width = 1;
  std::int64_t out_channels = 1, kernel_h = 1, kernel_w = 1;
  std::int64_t stride_h = 1, stride_w = 1, padding_h = 0, padding_w = 0, dilation_h = 1, dilation_w = 1;
  std::int64_t groups = 1;
  bool bias = false, relu = false;
  // kBf16 has no Winograd: the direct algorithm is used.
  Conv2dAlgorithm algorithm = Conv2dAlgorithm::kDirect;
  Precision precision = Precision::kF32;  // of float32's products
  std::int64_t input_block = 1, output_block = 1;

  std::int64_t out_height() const { return (height + 2 * padding_h - dilation_h * (kernel_h - 1) - 1) / stride_h + 1; }
  std::int64_t out_width() const { return (width + 2 * padding_w - dilation_w * (kernel_w - 1) - 1) / stride_w + 1; }
  Shape input_shape() const { return {batch, in_channels, height, width}; }
  Shape weight_shape() const { return {out_channels, in_channels / groups, kernel_h, kernel_w}; }
  Shape output_shape() const { return {batch, out_channels, out_height(), out_width()}; }
  bool operator==(const Conv2dShape&) const = default;
};

// InvalidShape where `shape` is impossible by itself. A batch of zero samples is possible.
void check_conv2d(const Conv2dShape& shape);

// `settings` with batch, channels and sizes taken from the shapes of an input and a weight. ShapeMismatch where the two
// do not fit together, InvalidShape as above.
Conv2dShape conv2d_shape(const Shape& input, const Shape& weight, Conv2dShape settings = {});

// The three operations check their shape. Memory on 64-byte boundaries is quickest. They take scratch memory from
// `arena`, give it back, and keep the kernels of recently used shapes per thread, so a repeated call allocates nothing
// of viva's. T is float or double.
//
// Note [Slices]: in float32 a batch is worked on in slices of kConv2dSlice samples and a rest, whose activations stay
// in the cache; gradients of weights are added up in the order of the slices. Where the slices begin is part of the
// mathematics, since Winograd's tiles reach across samples and the sums have an order: it never depends on threads.
inline constexpr std::int64_t kConv2dSlice = 16;

// Calls f(begin, size) for each slice of a batch.
template <typename F>
void for_each_slice(std::int64_t batch, F f) {
  for (std::int64_t begin = 0; begin < batch; begin += kConv2dSlice) f(begin, std::min(kConv2dSlice, batch - begin));
}

// `bias` is null where the shape has none.
template <typename T>
void conv2d_forward(const Conv2dShape& shape, const T* input, const T* weight, const std::type_identity_t<T>* bias,
                    std::type_identity_t<T>* output, Arena& arena);

// Overwrites grad_input. grad_output is the gradient of the results before ReLU: see relu_backward().
template <typename T>
void conv2d_backward_data(const Conv2dShape& shape, const T* grad_output, const T* weight,
                          std::type_identity_t<T>* grad_input, Arena& arena);

// Overwrites grad_weight and, where the shape has a bias, grad_bias; grad_output as above.
template <typename T>
void conv2d_backward_weights(const Conv2dShape& shape, const T* input, const T* grad_output,
                             std::type_identity_t<T>* grad_weight, std::type_identity_t<T>* grad_bias, Arena& arena);

// How many channels float32 kernels of this machine keep side by side: 16, 8, or 1 where blocks bring nothing.
std::int64_t channel_block();

// Whether kWinograd means anything for `shape`; where it does not, the direct algorithm is used. It wants float32,
// kernels of 3 x 3 with stride and dilation 1, one group, and multiples of 16 channels on both sides.
bool winograd_available(const Conv2dShape& shape);

}  // namespace viva
