// Convolutions with operands, for the tests of conv2d.h: any type, any storage, any algorithm over the same numbers.
#pragma once

#include <algorithm>
#include <cmath>
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

  Tensor forward(Arena& arena) const {
    const Tensor input = reblock<T>(input_, shape_.input_block);
    const Tensor output = unset(shape_.output_shape());
    conv2d_forward<T>(shape_, data(input), data(weight_), shape_.bias ? data(bias_) : nullptr, data(output), arena);
    return reblock<T>(output, shape_.output_block, true);
  }

  Conv2dResults run() const {
    Arena arena;
    const Tensor input = reblock<T>(input_, shape_.input_block);
    const Tensor grad_output = reblock<T>(grad_output_, shape_.output_block);
    const Tensor grad_input = unset(shape_.input_shape());
    const Tensor grad_weight = unset(shape_.weight_shape()), grad_bias = unset({shape_.bias ? shape_.out_channels : 0});
    conv2d_backward_data<T>(shape_, data(grad_output), data(weight_), data(grad_input), arena);
    conv2d_backward_weights<T>(shape_, data(input), data(grad_output), data(grad_weight), data(grad_bias), arena);
    return {forward(arena), reblock<T>(grad_input, shape_.input_block, true), grad_weight, grad_bias};
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

}  // namespace viva
