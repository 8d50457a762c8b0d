// Convolutions: float32 kernels against the float64 reference, the reference's gradients against differences, refused
// shapes.
#include "viva/tensor/conv2d.h"

#include <gtest/gtest.h>

#include <iostream>
#include <limits>
#include <string>

#include "tests/allocation_counter.h"
#include "tests/tensor/conv2d_cases.h"

namespace viva {
namespace {

TEST(Conv2d, IsTheReferenceInFloat32) {
  for (Conv2dShape shape : conv2d_shapes()) {
    for (const std::int64_t batch : {0, 1, 15, 16, 17, 33}) {
      shape.batch = batch;
      shape.bias = batch % 2 == 1;
      shape.relu = batch > 15;
      expect_the_reference(shape);
    }
  }
}

TEST(Conv2d, IsTheReferenceForEveryUseOfBiasAndRelu) {
  for (Conv2dShape shape : conv2d_shapes()) {
    shape.batch = 2;
    for (const bool bias : {false, true}) {
      for (const bool relu : {false, true}) {
        shape.bias = bias;
        shape.relu = relu;
        expect_the_reference(shape);
      }
    }
  }
}

TEST(Conv2d, IsTheReferenceInBlocks) {
  for (Conv2dShape shape : conv2d_shapes()) {
    shape.batch = 17;
    shape.bias = true;
    for (const auto& [in, out] : {std::pair{1, 16}, {16, 1}, {16, 16}, {8, 8}}) {
      if (shape.in_channels % in != 0 || shape.out_channels % out != 0) continue;
      shape.input_block = in;
      shape.output_block = out;
      expect_the_reference(shape);
    }
  }
}

TEST(Conv2d, IsTheReferenceWithWinograd) {
  int available = 0;
  for (Conv2dShape shape : conv2d_shapes()) {
    shape.algorithm = Conv2dAlgorithm::kWinograd;
    shape.bias = shape.relu = true;
    if (winograd_available(shape)) ++available;
    for (const std::int64_t batch : {0, 1, 15, 16, 17, 33}) {
      shape.batch = batch;
      expect_the_reference(shape);
    }
  }
  EXPECT_EQ(available, 2);
}

// Prints both errors; Winograd must not silently be the direct algorithm, nor much worse than it.
TEST(Conv2d, WinogradIsAnotherAlgorithmOfBoundedError) {
  Conv2dShape shape{
      .batch = 16, .in_channels = 32, .height = 14, .width = 14, .out_channels = 64, .kernel_h = 3, .kernel_w = 3};
  const Conv2dResults expected = Conv2dCase<double>(shape).run(), direct = Conv2dCase<float>(shape).run();
  shape.algorithm = Conv2dAlgorithm::kWinograd;
  const Conv2dResults winograd = Conv2dCase<float>(shape).run();
  for (const auto result : {&Conv2dResults::output, &Conv2dResults::grad_input, &Conv2dResults::grad_weight}) {
    const double direct_error = largest_difference(direct.*result, expected.*result);
    const double winograd_error = largest_difference(winograd.*result, expected.*result);
    std::cout << "largest error: direct " << direct_error << ", Winograd " << winograd_error << "\n";
    EXPECT_FALSE(bitwise_equal(direct.*result, winograd.*result));
    EXPECT_LE(winograd_error, 15 * direct_error);
  }
}

TEST(Conv2d, WinogradIsForCertainShapesOnly) {
  const Conv2dShape good{
      .batch = 1, .in_channels = 16, .height = 9, .width = 9, .out_channels = 16, .kernel_h = 3, .kernel_w = 3};
  for (const auto member : {&Conv2dShape::stride_h, &Conv2dShape::stride_w, &Conv2dShape::dilation_h,
                            &Conv2dShape::dilation_w, &Conv2dShape::groups, &Conv2dShape::kernel_h,
                            &Conv2dShape::kernel_w, &Conv2dShape::in_channels, &Conv2dShape::out_channels}) {
    Conv2dShape other = good;
    other.*member = 2;
    EXPECT_FALSE(winograd_available(other)) << testing::PrintToString(other);
  }
}

// sum(output * grad_output) is linear in each operand, so that a difference is its derivative but for rounding.
TEST(Conv2d, GradientsOfTheReferenceAreDifferences) {
  const auto product = [](const Tensor& a, const Tensor& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.values<double>().size(); ++i) sum += a.values<double>()[i] * b.values<double>()[i];
    return sum;
  };
  for (Conv2dShape shape : conv2d_shapes()) {
    shape.batch = 2;
    shape.bias = true;
    const Conv2dCase<double> problem(shape);
    const Conv2dResults results = problem.run();
    Arena arena;
    const auto expect_differences = [&](const Tensor& operand, const Tensor& gradient) {
      // About fifteen elements, spread over the operand.
      const std::size_t step = operand.values<double>().size() / 15 + 1;
      for (std::size_t i = 0; i < operand.values<double>().size(); i += step) {
        double& x = operand.mutable_values<double>()[i];
        const double saved = x;
        x = saved + 1;
        const double above = product(problem.forward(arena), problem.grad_output());
        x = saved - 1;
        const double below = product(problem.forward(arena), problem.grad_output());
        x = saved;
        ASSERT_NEAR((above - below) / 2, gradient.values<double>()[i], 1e-10) << testing::PrintToString(shape);
      }
    };
    expect_differences(problem.input(), results.grad_input);
    expect_differences(problem.weight(), results.grad_weight);
    expect_differences(problem.bias(), results.grad_bias);
  }
}

TEST(Conv2d, RepeatedCallsAllocateNothing) {
  const Conv2dShape shape{.batch = 20,
                          .in_channels = 16,
                          .height = 9,
                          .width = 9,
                          .out_channels = 16,
                          .kernel_h = 3,
                          .kernel_w = 3,
                          .bias = true,
                          .relu = true};
  const Tensor input = random_tensor<float>(1, shape.input_shape());
  const Tensor weight = random_tensor<float>(2, shape.weight_shape()), bias = random_tensor<float>(3, {16});
  const Tensor output = random_tensor<float>(4, shape.output_shape());
  const auto data = [](const Tensor& tensor) { return tensor.mutable_values<float>().data(); };
  Arena arena;
  std::int64_t before = 0;
  for (int call = 0; call < 3; ++call) {
    if (call == 1) before = test::allocations().viva;
    conv2d_forward(shape, data(input), data(weight), data(bias), data(output), arena);
    conv2d_backward_data(shape, data(output), data(weight), data(input), arena);
    conv2d_backward_weights(shape, data(input), data(output), data(weight), data(bias), arena);
  }
  EXPECT_EQ(test::allocations().viva, before);
}

TEST(Conv2d, TakesItsShapeFromInputAndWeight) {
  const Conv2dShape shape = conv2d_shape({2, 6, 9, 8}, {4, 3, 3, 2}, {.stride_h = 2, .padding_w = 1, .groups = 2});
  EXPECT_EQ(shape.output_shape(), (Shape{2, 4, 4, 9}));
  EXPECT_EQ(shape.weight_shape(), (Shape{4, 3, 3, 2}));
}

template <typename Error, typename F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no such error";
}

TEST(Conv2d, RefusesShapesThatDoNotFit) {
  EXPECT_EQ(
      message_of<ShapeMismatch>([] {
        conv2d_shape({2, 3, 8, 8}, {4, 2, 3, 3});
      }),
      "conv2d, weight (out channels, in channels / groups, kernel height, kernel width) for input [2, 3, 8, 8] and "
      "groups 1: expected shape [4, 3, 3, 3], got [4, 2, 3, 3]");
  EXPECT_EQ(message_of<ShapeMismatch>([] {
              conv2d_shape({3, 8, 8}, {4, 3, 3, 3});
            }),
            "conv2d, input (batch, channels, height, width): expected shape [-1, -1, -1, -1], got [3, 8, 8]");
  EXPECT_THROW(conv2d_shape({2, 3, 8, 8}, {4, 3, 3}), ShapeMismatch);
  EXPECT_EQ(
      message_of<InvalidShape>([] {
        conv2d_shape({2, 3, 8, 4}, {4, 3, 3, 3}, {.dilation_w = 2});
      }),
      "conv2d: a kernel of 3 with dilation 2 spans 5, but width 4 with padding 0 on both sides is 4: it must be at "
      "least the span");
  EXPECT_EQ(message_of<InvalidShape>([] {
              conv2d_shape({2, 3, 8, 8}, {4, 3, 3, 3}, {.groups = 2});
            }),
            "conv2d: 3 input channels in 2 groups: they must be a positive multiple of the groups");
}

TEST(Conv2d, RefusesImpossibleNumbers) {
  for (const auto member :
       {&Conv2dShape::in_channels, &Conv2dShape::height, &Conv2dShape::width, &Conv2dShape::out_channels,
        &Conv2dShape::kernel_h, &Conv2dShape::kernel_w, &Conv2dShape::stride_h, &Conv2dShape::stride_w,
        &Conv2dShape::dilation_h, &Conv2dShape::dilation_w, &Conv2dShape::groups}) {
    Conv2dShape shape;
    shape.*member = 0;
    EXPECT_THROW(check_conv2d(shape), InvalidShape);
    shape.*member = -1;
    EXPECT_THROW(check_conv2d(shape), InvalidShape);
  }
  EXPECT_THROW(check_conv2d({.batch = -1}), InvalidShape);
  EXPECT_THROW(check_conv2d({.padding_h = -1}), InvalidShape);
  EXPECT_THROW(check_conv2d({.padding_w = std::int64_t{1} << 62}), InvalidShape);
  EXPECT_THROW(check_conv2d({.in_channels = 24, .input_block = 16}), InvalidShape);
  EXPECT_THROW(check_conv2d({.out_channels = 4, .output_block = 4}), InvalidShape);
  EXPECT_NO_THROW(check_conv2d({}));
}

}  // namespace
}  // namespace viva
