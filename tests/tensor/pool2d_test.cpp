// Pooling against plain loops over windows, its gradients against differences, ties, NaN and refused shapes.
#include "viva/tensor/pool2d.h"
#include "tests/tensor/floating.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/tensor/conv2d_cases.h"
#include "tests/tensor/host_settings.h"

namespace viva {
namespace {

std::vector<Pool2dShape> pool2d_shapes() {
  std::vector<Pool2dShape> all;
  for (const std::int64_t batch : {0, 1, 3}) {
    for (const std::int64_t channels : {1, 3, 16, 48}) {
      for (const std::int64_t block : {1, 8, 16}) {
        if (channels % block != 0) continue;
        const Pool2dShape s{.batch = batch, .channels = channels, .height = 7, .width = 9, .channel_block = block};
        const auto add = [&](std::int64_t kernel_h, std::int64_t kernel_w, std::int64_t stride_h, std::int64_t stride_w,
                             std::int64_t padding_h, std::int64_t padding_w) {
          Pool2dShape shape = s;
          shape.kernel_h = kernel_h;
          shape.kernel_w = kernel_w;
          shape.stride_h = stride_h;
          shape.stride_w = stride_w;
          shape.padding_h = padding_h;
          shape.padding_w = padding_w;
          all.push_back(shape);
        };
        add(2, 2, 2, 2, 0, 0);
        add(3, 3, 2, 2, 1, 1);
        add(3, 2, 1, 3, 0, 1);
        add(1, 1, 2, 1, 0, 0);
        add(7, 9, 1, 1, 0, 0);
        add(4, 5, 5, 4, 2, 2);
      }
    }
  }
  return all;
}

std::string trace(const Pool2dShape& s) {
  return "input " + to_string(s.input_shape()) + ", kernel " + to_string({s.kernel_h, s.kernel_w}) + ", stride " +
         to_string({s.stride_h, s.stride_w}) + ", padding " + to_string({s.padding_h, s.padding_w}) + ", block " +
         std::to_string(s.channel_block);
}

struct Indexed {
  Tensor output;
  std::vector<std::uint16_t> index;
};

// Both NCHW, whatever the block.
template <typename T>
Indexed max_pool(const Pool2dShape& s, const Tensor& input) {
  const Tensor output = Tensor::zeros(s.output_shape(), dtype_of<T>);
  std::vector<std::uint16_t> index(static_cast<std::size_t>(output.size()), 9999);
  max_pool2d_forward<T>(s, reblock<T>(input, s.channel_block).template values<T>().data(),
                        output.mutable_values<T>().data(), index.data());
  const Tensor places = Tensor::zeros(s.output_shape(), dtype_of<T>);
  std::copy(index.begin(), index.end(), places.mutable_values<T>().begin());
  const Tensor plain = reblock<T>(places, s.channel_block, true);
  for (std::size_t i = 0; i < index.size(); ++i) index[i] = static_cast<std::uint16_t>(plain.values<T>()[i]);
  return {reblock<T>(output, s.channel_block, true), index};
}

template <typename T>
Tensor max_pool_gradient(const Pool2dShape& s, const Tensor& grad_output, const std::vector<std::uint16_t>& index) {
  const Tensor places = Tensor::zeros(s.output_shape(), dtype_of<T>), grad = random_tensor<T>(9, s.input_shape());
  std::copy(index.begin(), index.end(), places.mutable_values<T>().begin());
  const Tensor blocked = reblock<T>(places, s.channel_block);
  std::vector<std::uint16_t> stored;
  for (const T place : blocked.values<T>()) stored.push_back(static_cast<std::uint16_t>(place));
  max_pool2d_backward<T>(s, reblock<T>(grad_output, s.channel_block).template values<T>().data(), stored.data(),
                         grad.mutable_values<T>().data());
  return reblock<T>(grad, s.channel_block, true);
}

template <typename T>
Tensor average_pool(const Pool2dShape& s, const Tensor& input) {
  const Tensor output = Tensor::zeros(s.output_shape(), dtype_of<T>);
  average_pool2d_forward<T>(s, reblock<T>(input, s.channel_block).template values<T>().data(),
                            output.mutable_values<T>().data());
  return reblock<T>(output, s.channel_block, true);
}

template <typename T>
Tensor average_pool_gradient(const Pool2dShape& s, const Tensor& grad_output) {
  const Tensor grad = random_tensor<T>(9, s.input_shape());
  average_pool2d_backward<T>(s, reblock<T>(grad_output, s.channel_block).template values<T>().data(),
                             grad.mutable_values<T>().data());
  return reblock<T>(grad, s.channel_block, true);
}

// The same by plain loops, in the order that the kernels promise.
template <typename T>
struct Plain {
  Tensor largest, average, grad_largest, grad_average;
  std::vector<std::uint16_t> index;

  Plain(const Pool2dShape& s, const Tensor& input, const Tensor& grad_output)
      : largest(Tensor::zeros(s.output_shape(), dtype_of<T>)),
        average(Tensor::zeros(s.output_shape(), dtype_of<T>)),
        grad_largest(Tensor::zeros(s.input_shape(), dtype_of<T>)),
        grad_average(Tensor::zeros(s.input_shape(), dtype_of<T>)) {
    const std::int64_t out_h = s.out_height(), out_w = s.out_width();
    const T places = static_cast<T>(s.kernel_h * s.kernel_w);
    for (std::int64_t o = 0; o < largest.size(); ++o) {
      const std::int64_t x = o % out_w, y = o / out_w % out_h, image = o / out_w / out_h;
      T best = 0, sum = 0;
      std::size_t best_element = 0;
      std::int64_t best_place = -1;
      const T grad = grad_output.values<T>()[static_cast<std::size_t>(o)];
      for (std::int64_t place = 0; place < s.kernel_h * s.kernel_w; ++place) {
        const std::int64_t row = y * s.stride_h - s.padding_h + place / s.kernel_w;
        const std::int64_t column = x * s.stride_w - s.padding_w + place % s.kernel_w;
        if (row < 0 || row >= s.height || column < 0 || column >= s.width) continue;
        const auto element = static_cast<std::size_t>((image * s.height + row) * s.width + column);
        const T value = input.values<T>()[element];
        sum += value;
        grad_average.mutable_values<T>()[element] += grad / places;
        if (best_place >= 0 && !(value > best) && !std::isnan(value)) continue;
        best = value;
        best_place = place;
        best_element = element;
      }
      largest.mutable_values<T>()[static_cast<std::size_t>(o)] = best;
      average.mutable_values<T>()[static_cast<std::size_t>(o)] = sum / places;
      grad_largest.mutable_values<T>()[best_element] += grad;
      index.push_back(static_cast<std::uint16_t>(best_place));
    }
  }
};

template <typename T>
void expect_the_plain_loop(const Pool2dShape& s, const Tensor& input) {
  SCOPED_TRACE(trace(s));
  const Tensor grad_output = random_tensor<T>(2, s.output_shape());
  const Plain<T> plain(s, input, grad_output);
  const Indexed got = max_pool<T>(s, input);
  EXPECT_TRUE(bitwise_equal(got.output, plain.largest));
  EXPECT_EQ(got.index, plain.index);
  EXPECT_TRUE(bitwise_equal(max_pool_gradient<T>(s, grad_output, got.index), plain.grad_largest));
  EXPECT_TRUE(bitwise_equal(average_pool<T>(s, input), plain.average));
  EXPECT_TRUE(bitwise_equal(average_pool_gradient<T>(s, grad_output), plain.grad_average));
}

template <typename T>
class Pool2d : public testing::Test {};
TYPED_TEST_SUITE(Pool2d, Floating);

TYPED_TEST(Pool2d, IsThePlainLoop) {
  for (const Pool2dShape& s : pool2d_shapes())
    expect_the_plain_loop<TypeParam>(s, random_tensor<TypeParam>(1, s.input_shape()));
}

// Few different numbers, among them infinities: most windows have ties, many have only the lowest number.
TYPED_TEST(Pool2d, TiesGoToTheFirst) {
  constexpr TypeParam kInfinity = std::numeric_limits<TypeParam>::infinity();
  for (const Pool2dShape& s : pool2d_shapes()) {
    const Tensor input = random_tensor<TypeParam>(1, s.input_shape());
    for (TypeParam& x : input.mutable_values<TypeParam>()) x = x < 0 ? -kInfinity : x < 0.5 ? TypeParam{1} : kInfinity;
    const Indexed got = max_pool<TypeParam>(s, input);
    const Plain<TypeParam> plain(s, input, random_tensor<TypeParam>(2, s.output_shape()));
    EXPECT_TRUE(bitwise_equal(got.output, plain.largest)) << trace(s);
    EXPECT_EQ(got.index, plain.index) << trace(s);
  }
}

template <typename T>
std::vector<std::size_t> nan_places(const Tensor& tensor) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < tensor.values<T>().size(); ++i) {
    if (std::isnan(tensor.values<T>()[i])) places.push_back(i);
  }
  return places;
}

TYPED_TEST(Pool2d, NaNPropagates) {
  for (const Pool2dShape& s : pool2d_shapes()) {
    const Tensor input = random_tensor<TypeParam>(1, s.input_shape());
    for (TypeParam& x : input.mutable_values<TypeParam>()) {
      if (x > 0.7) x = std::numeric_limits<TypeParam>::quiet_NaN();
    }
    const Indexed got = max_pool<TypeParam>(s, input);
    const Plain<TypeParam> plain(s, input, random_tensor<TypeParam>(2, s.output_shape()));
    EXPECT_EQ(got.index, plain.index) << trace(s);
    EXPECT_EQ(nan_places<TypeParam>(got.output), nan_places<TypeParam>(plain.largest)) << trace(s);
    EXPECT_EQ(nan_places<TypeParam>(average_pool<TypeParam>(s, input)), nan_places<TypeParam>(plain.average));
  }
}

TYPED_TEST(Pool2d, HasTheSameBitsUnderAnySettingsOfTheHost) {
  const Pool2dShape s{.batch = 2, .channels = 16, .height = 9, .width = 9, .kernel_h = 3, .kernel_w = 3};
  const Tensor input = random_tensor<TypeParam>(1, s.input_shape());
  const Tensor expected = average_pool<TypeParam>(s, input);
  for (const std::uint64_t control : host_float_controls()) {
    Tensor got;
    {
      const HostSettings host(control, 2);
      got = average_pool<TypeParam>(s, input);
    }
    EXPECT_TRUE(bitwise_equal(got, expected)) << control;
  }
}

// sum(output * grad_output) is linear in the input as long as no window's largest element changes.
TEST(Pool2dGradient, IsADifference) {
  for (const Pool2dShape& s : pool2d_shapes()) {
    const Tensor input = random_tensor<double>(1, s.input_shape()), grad = random_tensor<double>(2, s.output_shape());
    const auto product = [&](const Tensor& output) {
      double sum = 0;
      for (std::size_t i = 0; i < output.values<double>().size(); ++i) {
        sum += output.values<double>()[i] * grad.values<double>()[i];
      }
      return sum;
    };
    const Tensor of_largest = max_pool_gradient<double>(s, grad, max_pool<double>(s, input).index);
    const Tensor of_average = average_pool_gradient<double>(s, grad);
    const std::size_t count = input.values<double>().size();
    for (std::size_t i = 0; i < count; i += count / 5 + 1) {
      double& x = input.mutable_values<double>()[i];
      const double saved = x, step = 1e-7;
      const double largest = product(max_pool<double>(s, input).output),
                   average = product(average_pool<double>(s, input));
      x += step;
      EXPECT_NEAR((product(max_pool<double>(s, input).output) - largest) / step, of_largest.values<double>()[i], 1e-5);
      EXPECT_NEAR((product(average_pool<double>(s, input)) - average) / step, of_average.values<double>()[i], 1e-5);
      x = saved;
    }
  }
}

TEST(Pool2dShapes, TheGlobalPoolingIsTheMean) {
  const Pool2dShape s = global_pool2d_shape({2, 3, 4, 5});
  EXPECT_EQ(s.output_shape(), (Shape{2, 3, 1, 1}));
  const Tensor input = Tensor::zeros(s.input_shape(), Dtype::kFloat64);
  for (std::size_t i = 0; i < 120; ++i) input.mutable_values<double>()[i] = static_cast<double>(i);
  EXPECT_TRUE(bitwise_equal(average_pool<double>(s, input),
                            Tensor::from_values<double>({9.5, 29.5, 49.5, 69.5, 89.5, 109.5}, s.output_shape())));
}

TEST(Pool2dShapes, AreRefusedWhereTheyAreImpossible) {
  EXPECT_THROW(pool2d_shape({3, 4, 5}, {}), ShapeMismatch);
  EXPECT_THROW(global_pool2d_shape({3, 4, 5}), ShapeMismatch);
  EXPECT_EQ(pool2d_shape({2, 3, 8, 9}, {.kernel_h = 2, .kernel_w = 3, .stride_h = 2}).output_shape(),
            (Shape{2, 3, 4, 7}));
  for (const auto member : {&Pool2dShape::channels, &Pool2dShape::height, &Pool2dShape::width, &Pool2dShape::kernel_h,
                            &Pool2dShape::kernel_w, &Pool2dShape::stride_h, &Pool2dShape::stride_w}) {
    Pool2dShape shape;
    shape.*member = 0;
    EXPECT_THROW(check_pool2d(shape), InvalidShape);
  }
  EXPECT_THROW(check_pool2d({.batch = -1}), InvalidShape);
  EXPECT_THROW(check_pool2d({.padding_h = -1}), InvalidShape);
  EXPECT_THROW(check_pool2d({.channels = 12, .channel_block = 8}), InvalidShape);
  EXPECT_THROW(check_pool2d({.channels = 12, .channel_block = 4}), InvalidShape);
  EXPECT_THROW(check_pool2d({.padding_w = std::int64_t{1} << 62}), InvalidShape);
  try {
    check_pool2d({.height = 3, .width = 9, .kernel_h = 4, .kernel_w = 4});
    FAIL() << "no error";
  } catch (const InvalidShape& error) {
    EXPECT_STREQ(error.what(),
                 "pool2d: height 3 with padding 0 on both sides is 3: it must be at least the kernel of 4");
  }
  try {
    check_pool2d({.height = 3, .width = 9, .kernel_h = 3, .kernel_w = 3, .padding_w = 2});
    FAIL() << "no error";
  } catch (const InvalidShape& error) {
    EXPECT_STREQ(error.what(), "pool2d: padding 2 of the width must be at most half the kernel of 3");
  }
  const Pool2dShape large = global_pool2d_shape({1, 1, 257, 256});
  std::uint16_t index = 0;
  const std::vector<float> input(257 * 256);
  float output = 0;
  EXPECT_THROW(max_pool2d_forward(large, input.data(), &output, &index), InvalidShape);
}

}  // namespace
}  // namespace viva
