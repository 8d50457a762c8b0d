// A convolution has the same bits whatever the host's settings are when its kernel is made and run, on any thread and
// when it is repeated; and a batch is its slices. Runs on threads of their own, because a thread keeps its kernels.
#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

#include "tests/tensor/conv2d_cases.h"
#include "tests/tensor/host_settings.h"

namespace viva {
namespace {

bool same_bits(const Conv2dResults& a, const Conv2dResults& b) {
  return bitwise_equal(a.output, b.output) && bitwise_equal(a.grad_input, b.grad_input) &&
         bitwise_equal(a.grad_weight, b.grad_weight) && bitwise_equal(a.grad_bias, b.grad_bias);
}

std::vector<Conv2dShape> layers() {
  Conv2dShape first{.batch = 17,
                    .in_channels = 1,
                    .height = 14,
                    .width = 14,
                    .out_channels = 32,
                    .kernel_h = 3,
                    .kernel_w = 3,
                    .bias = true,
                    .relu = true};
  Conv2dShape second = first;
  second.in_channels = 32;
  second.height = second.width = 12;
  second.out_channels = 64;
  second.input_block = channel_block();
  Conv2dShape winograd = second;
  winograd.algorithm = Conv2dAlgorithm::kWinograd;
  return {first, second, winograd};
}

template <typename T>
Conv2dResults convolved_on_a_new_thread(const Conv2dCase<T>& problem, std::uint64_t control, int openmp_threads) {
  Conv2dResults results;
  std::thread([&] {
    const HostSettings host(control, openmp_threads);
    results = problem.run();
  }).join();
  return results;
}

template <typename T>
void expect_the_same_bits_under_any_settings(const Conv2dShape& shape) {
  const Conv2dCase<T> problem(shape);
  const Conv2dResults expected = problem.run();
  EXPECT_TRUE(same_bits(problem.run(), expected)) << "repeated";
  for (const int openmp_threads : {1, 2, 4}) {
    for (const std::uint64_t control : host_float_controls()) {
      EXPECT_TRUE(same_bits(convolved_on_a_new_thread(problem, control, openmp_threads), expected))
          << testing::PrintToString(shape) << openmp_threads << " OpenMP threads, control register " << control;
    }
  }
}

TEST(Conv2dBits, AreTheSameUnderAnySettingsOfTheHostInFloat32) {
  for (const Conv2dShape& layer : layers()) expect_the_same_bits_under_any_settings<float>(layer);
}

TEST(Conv2dBits, AreTheSameUnderAnySettingsOfTheHostInFloat64) {
  Conv2dShape shape = layers().front();
  shape.batch = 2;
  expect_the_same_bits_under_any_settings<double>(shape);
}

// Note [Slices]: 40 samples are 16, 16 and 8, and gradients of weights their sum in this order.
TEST(Conv2dBits, OfABatchAreThoseOfItsSlices) {
  for (Conv2dShape shape : layers()) {
    shape.input_block = 1;
    shape.batch = 40;
    const Conv2dCase<float> problem(shape);
    const Conv2dResults whole = problem.run();
    Tensor weight_sum = Tensor::zeros(shape.weight_shape()), bias_sum = Tensor::zeros({shape.out_channels});
    for (const auto& [begin, end] : {std::pair{0, 16}, {16, 32}, {32, 40}}) {
      Conv2dShape part = shape;
      part.batch = end - begin;
      const Tensor input = problem.input().slice(begin, end), grad_output = problem.grad_output().slice(begin, end);
      const Tensor output = Tensor::zeros(part.output_shape()), grad_input = Tensor::zeros(part.input_shape());
      const Tensor grad_weight = Tensor::zeros(shape.weight_shape()), grad_bias = Tensor::zeros({shape.out_channels});
      const auto data = [](const Tensor& tensor) { return tensor.mutable_values<float>().data(); };
      Arena arena;
      conv2d_forward(part, data(input), data(problem.weight()), data(problem.bias()), data(output), arena);
      conv2d_backward_data(part, data(grad_output), data(problem.weight()), data(grad_input), arena);
      conv2d_backward_weights(part, data(input), data(grad_output), data(grad_weight), data(grad_bias), arena);
      EXPECT_TRUE(bitwise_equal(output, whole.output.slice(begin, end)));
      EXPECT_TRUE(bitwise_equal(grad_input, whole.grad_input.slice(begin, end)));
      const auto add = [](const Tensor& sum, const Tensor& x) {
        for (std::size_t i = 0; i < x.values<float>().size(); ++i)
          sum.mutable_values<float>()[i] += x.values<float>()[i];
      };
      add(weight_sum, grad_weight);
      add(bias_sum, grad_bias);
    }
    EXPECT_TRUE(bitwise_equal(whole.grad_weight, weight_sum));
    EXPECT_TRUE(bitwise_equal(whole.grad_bias, bias_sum));
  }
}

}  // namespace
}  // namespace viva
