// Convolutions with operands, for the tests of conv2d.h: any type, any storage, any algorithm over the same numbers.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <vector>

#include "tests/tensor/random_tensor.h"
#include "viva/tensor/conv2d.h"
#include "viva/tensor/random.h"
#include "viva/tensor/tensor.h"

namespace viva {

inline void PrintTo(const Conv2dShape& s, std::ostream* out) {
  *out << "input " << to_string(s.input_shape()) << ", weight " << to_string(s.weight_shape()) << ", stride "
       << s.stride_h << " " << s.stride_w << ", padding " << s.padding_h << " " << s.padding_w << ", dilation "
       << s.dilation_h << " " << s.dilation_w << ", groups " << s.groups << ", blocks " << s.input_block << " "
       << s.output_block << (s.bias ? ", bias" : "") << (s.relu ? ", relu" : "")
       << (s.algorithm == Conv2dAlgorithm::kWinograd ? ", Winograd" : "");
}

// NCHW to blocks of `block` channels, or with `back` the other way.
template <typename T>
Tensor reblock(const Tensor& image, std::int64_t block, bool back = false) {
  const Shape& s = image.shape();
  const Tensor result = Tensor::zeros(s, image.dtype());
  const std::int64_t area = s[2] * s[3];
  for (std::int64_t i = 0; i < image.size(); ++i) {
    const std::int64_t pixel = i % area, channel = i / area % s[1], sample = i / area / s[1];
    const std::int64_t place =
        (sample * s[1] / block + channel / block) * area * block + pixel * block + channel % block;
    result.mutable_values<T>()[static_cast<std::size_t>(back ? i : place)] =
        image.values<T>()[static_cast<std::size_t>(back ? place : i)];
  }
  return result;
}

// The results of the three operations, NCHW.
struct Conv2dResults {
  Tensor output, grad_input, grad_weight, grad_bias;
};

// The three operations, of the public interface or of one of its algorithms.
template <typename T>
struct Conv2dFunctions {
  decltype(&conv2d_forward<T>) forward = conv2d_forward<T>;
  decltype(&conv2d_backward_data<T>) backward_data = conv2d_backward_data<T>;
  decltype(&conv2d_backward_weights<T>) backward_weights = conv2d_backward_weights<T>;
};

template <typename T>
class Conv2dCase {
 public:
  explicit Conv2dCase(const Conv2dShape& shape)
      : shape_(shape),
        input_(random_tensor<T>(1, shape.input_shape())),
        weight_(random_tensor<T>(2, shape.weight_shape())),
        bias_(random_tensor<T>(3, {shape.out_channels})),
        grad_output_(random_tensor<T>(4, shape.output_shape())) {}
  // The same with given numbers, NCHW.
  Conv2dCase(const Conv2dShape& shape, const Tensor& input, const Tensor& weight, const Tensor& grad_output)
      : shape_(shape),
        input_(input.to(dtype_of<T>)),
        weight_(weight.to(dtype_of<T>)),
        bias_(Tensor::zeros({shape.out_channels}, dtype_of<T>)),
        grad_output_(grad_output.to(dtype_of<T>)) {}

  const Tensor& input() const { return input_; }
  const Tensor& weight() const { return weight_; }
  const Tensor& bias() const { return bias_; }
  const Tensor& grad_output() const { return grad_output_; }

  Tensor forward(Arena& arena, const Conv2dFunctions<T>& functions = {}) const {
    const Tensor input = reblock<T>(input_, shape_.input_block);
    const Tensor output = unset(shape_.output_shape());
    functions.forward(shape_, data(input), data(weight_), shape_.bias ? data(bias_) : nullptr, data(output), arena);
    return reblock<T>(output, shape_.output_block, true);
  }

  Conv2dResults run(const Conv2dFunctions<T>& functions = {}) const {
    Arena arena;
    const Tensor input = reblock<T>(input_, shape_.input_block);
    const Tensor grad_output = reblock<T>(grad_output_, shape_.output_block);
    const Tensor grad_input = unset(shape_.input_shape());
    const Tensor grad_weight = unset(shape_.weight_shape()), grad_bias = unset({shape_.bias ? shape_.out_channels : 0});
    functions.backward_data(shape_, data(grad_output), data(weight_), data(grad_input), arena);
    functions.backward_weights(shape_, data(input), data(grad_output), data(grad_weight), data(grad_bias), arena);
    return {forward(arena, functions), reblock<T>(grad_input, shape_.input_block, true), grad_weight, grad_bias};
  }

 private:
  static T* data(const Tensor& tensor) { return tensor.mutable_values<T>().data(); }
  // For results: whatever is not overwritten shows.
  static Tensor unset(const Shape& shape) {
    const Tensor tensor = Tensor::zeros(shape, dtype_of<T>);
    for (T& x : tensor.mutable_values<T>()) x = static_cast<T>(NAN);
    return tensor;
  }

  Conv2dShape shape_;
  Tensor input_, weight_, bias_, grad_output_;
};

// The largest difference of elements; NaN where there is one.
inline double largest_difference(const Tensor& got, const Tensor& expected) {
  double largest = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(expected.size()); ++i) {
    const double difference = std::abs(static_cast<double>(got.values<float>()[i]) - expected.values<double>()[i]);
    if (!(difference <= largest)) largest = difference;
    if (std::isnan(largest)) break;
  }
  return largest;
}

// Every feature, each with odd sizes; the batch is set by the tests.
inline std::vector<Conv2dShape> conv2d_shapes() {
  std::vector<Conv2dShape> all{
      {.in_channels = 1, .height = 11, .width = 12, .out_channels = 32, .kernel_h = 3, .kernel_w = 3},
      {.in_channels = 32, .height = 6, .width = 7, .out_channels = 48, .kernel_h = 3, .kernel_w = 3},
      {.in_channels = 16,
       .height = 7,
       .width = 7,
       .out_channels = 16,
       .kernel_h = 3,
       .kernel_w = 3,
       .padding_h = 1,
       .padding_w = 1},
      {.in_channels = 3,
       .height = 8,
       .width = 9,
       .out_channels = 5,
       .kernel_h = 5,
       .kernel_w = 4,
       .stride_w = 3,
       .padding_h = 2,
       .padding_w = 1},
      {.in_channels = 16,
       .height = 9,
       .width = 9,
       .out_channels = 20,
       .kernel_h = 3,
       .kernel_w = 3,
       .stride_h = 2,
       .stride_w = 2,
       .padding_h = 1,
       .padding_w = 1},
      {.in_channels = 4,
       .height = 9,
       .width = 11,
       .out_channels = 6,
       .kernel_h = 3,
       .kernel_w = 2,
       .padding_h = 2,
       .dilation_h = 2,
       .dilation_w = 3},
      {.in_channels = 32, .height = 6, .width = 5, .out_channels = 32, .kernel_h = 3, .kernel_w = 3, .groups = 2},
      {.in_channels = 6, .height = 6, .width = 5, .out_channels = 9, .kernel_h = 2, .kernel_w = 3, .groups = 3},
      {.in_channels = 16,
       .height = 8,
       .width = 7,
       .out_channels = 16,
       .kernel_h = 3,
       .kernel_w = 3,
       .padding_h = 1,
       .padding_w = 1,
       .groups = 16},
      {.in_channels = 5, .height = 5, .width = 4, .out_channels = 10, .kernel_h = 3, .kernel_w = 3, .groups = 5},
      {.in_channels = 17, .height = 5, .width = 4, .out_channels = 33},
      {.in_channels = 2, .height = 1, .width = 9, .out_channels = 3, .kernel_w = 3},
      {.in_channels = 3,
       .height = 2,
       .width = 2,
       .out_channels = 2,
       .kernel_h = 2,
       .kernel_w = 2,
       .padding_h = 3,
       .padding_w = 3},
      {},
  };
  return all;
}

// Sums of `terms` products of numbers up to 1. Roundings of a growing sum mostly cancel: the error is about a sixth of
// this, far below what any wrong term would make.
inline double bound(std::int64_t terms) {
  return static_cast<double>(terms + 2) * std::numeric_limits<float>::epsilon();
}

// Winograd's transforms round on their own: its errors have been up to six times the direct algorithm's.
inline constexpr double kWinogradFactor = 8;

inline void expect_the_reference(const Conv2dShape& s, const Conv2dFunctions<float>& functions = {}) {
  SCOPED_TRACE(testing::PrintToString(s));
  Conv2dShape direct = s;
  direct.algorithm = Conv2dAlgorithm::kDirect;
  const Conv2dResults got = Conv2dCase<float>(s).run(functions), expected = Conv2dCase<double>(direct).run();
  const double factor = s.algorithm == Conv2dAlgorithm::kWinograd ? kWinogradFactor : 1;
  const std::int64_t taps = s.kernel_h * s.kernel_w, pixels = s.batch * s.out_height() * s.out_width();
  EXPECT_LE(largest_difference(got.output, expected.output), factor * bound(s.in_channels / s.groups * taps));
  EXPECT_LE(largest_difference(got.grad_input, expected.grad_input), factor * bound(s.out_channels / s.groups * taps));
  EXPECT_LE(largest_difference(got.grad_weight, expected.grad_weight), factor * bound(pixels));
  EXPECT_LE(largest_difference(got.grad_bias, expected.grad_bias), bound(pixels));
}

}  // namespace viva
