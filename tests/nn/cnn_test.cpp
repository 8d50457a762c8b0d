// The convolutional network: its fused modules against the same operations one by one, and what it says of bad input.
#include "viva/nn/cnn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/nn/model_gradients.h"
#include "viva/autograd/pointwise.h"
#include "viva/autograd/reduce.h"
#include "viva/autograd/shape.h"
#include "viva/nn/layers.h"

namespace viva::nn {
namespace {

using test::gradients_of;
using test::random_batch;

// In PyTorch's layouts, one operation after the other.
Variable plain_cnn(const Params& p, const Tensor& images, Conv2dAlgorithm algorithm) {
  const Conv2dShape settings{.algorithm = algorithm};
  const Tensor x = images.reshape({images.length(), 1, images.shape()[1], images.shape()[2]});
  const Variable first = autograd::relu(autograd::conv2d(p.constant(x), p[0], p[1], settings));
  const Variable second = autograd::relu(autograd::conv2d(first, p[2], p[3], settings));
  const Variable pooled = autograd::max_pool2d(second, {.kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2});
  const Variable hidden = autograd::relu(autograd::linear(autograd::flatten(pooled), p[4], p[5]));
  return autograd::linear(hidden, p[6], p[7]);
}

double largest(std::span<const float> values) {
  double most = 0;
  for (const float x : values) most = std::max(most, std::abs(static_cast<double>(x)));
  return most;
}

TEST(Cnn, FusedModulesGiveWhatTheOperationsGiveOneByOne) {
  for (const auto algorithm : {Conv2dAlgorithm::kDirect, Conv2dAlgorithm::kWinograd}) {
    const Model model = cnn({.height = 14, .width = 12, .algorithm = algorithm});
    const auto params = model.initial_params(1);
    const auto batch = random_batch<float>(19, {14, 12}, 10, 2);  // two slices, one of them short
    const auto fused = gradients_of(classifier_loss(model), batch, params);
    const auto plain = gradients_of(autograd::value_and_grad([&](const data::Batch& b, const Params& p) {
                                      return autograd::cross_entropy(plain_cnn(p, b.inputs, algorithm), b.targets);
                                    }),
                                    batch, params);
    EXPECT_NEAR(fused.loss, plain.loss, 1e-6);
    for (std::size_t i = 0; i < params.size(); ++i) {
      const auto got = fused.grads[i].values<float>(), expected = plain.grads[i].values<float>();
      const double bound = 1e-5 * std::max(largest(expected), 1e-3);
      for (std::size_t k = 0; k < got.size(); ++k) ASSERT_NEAR(got[k], expected[k], bound) << params[i].name;
    }
  }
}

// One operation or two: the same bits, in values and gradients.
TEST(Cnn, PoolingWithinTheConvolutionChangesNoBit) {
  const Pool2dShape pool{.kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2};
  const std::vector<Param> params{{"weight", Tensor::zeros({64, 32, 3, 3})}, {"bias", Tensor::zeros({64})}};
  std::uint32_t number = 0;
  for (const Param& param : params) initialize(param.value, normal(0.1), 3, number++);
  const auto batch = random_batch<float>(35, {32, 12, 10}, 10, 4);
  for (const auto algorithm : {Conv2dAlgorithm::kDirect, Conv2dAlgorithm::kWinograd}) {
    const Conv2dShape settings{.algorithm = algorithm, .output_block = channel_block()};
    const auto gradients = [&](bool together) {
      return gradients_of(autograd::value_and_grad([&](const data::Batch& b, const Params& p) {
                            const Variable x = p.constant(b.inputs);
                            constexpr auto kRelu = autograd::Activation::kRelu;
                            const Variable y =
                                together ? autograd::conv2d_max_pool2d(x, p[0], p[1], settings, pool, kRelu)
                                         : autograd::max_pool2d(autograd::conv2d(x, p[0], p[1], settings), pool, kRelu);
                            return autograd::mean(y * y);
                          }),
                          batch, params);
    };
    const auto one = gradients(true), two = gradients(false);
    EXPECT_EQ(one.loss, two.loss);
    for (std::size_t i = 0; i < params.size(); ++i) EXPECT_TRUE(bitwise_equal(one.grads[i], two.grads[i])) << i;
  }
}

TEST(Cnn, TheReferenceModelHasItsParameters) {
  const Model model = cnn();
  std::int64_t elements = 0;
  for (const ParamSpec& spec : model.specs()) elements += element_count(spec.shape);
  EXPECT_EQ(elements, 32 * 9 + 32 + 64 * 32 * 9 + 64 + 128 * 9216 + 128 + 1280 + 10);
  EXPECT_EQ(model.specs()[2].name, "conv2.weight");
}

TEST(Cnn, OtherChannelsNameTheLayer) {
  const Model model = cnn();
  const auto params = model.initial_params(0);
  const auto batch = random_batch<float>(2, {3, 28, 28}, 10, 1);
  try {
    gradients_of(classifier_loss(model), batch, params);
    FAIL();
  } catch (const ShapeMismatch& error) {
    EXPECT_EQ(error.got, (Shape{2, 3, 28, 28}));
    EXPECT_EQ(error.expected[1], 1);
    EXPECT_NE(std::string(error.what()).find("'conv1' (Conv2d)"), std::string::npos) << error.what();
  }
  EXPECT_THROW(cnn({.height = 5}), InvalidShape);
}

// A pool and a convolution that cannot read blocks, an odd number of channels, a ReLU that nobody takes over.
TEST(ImageLayers, AnyOrderOfModulesWorks) {
  const Model model(Conv2d(1, 32, 3, {.padding = 1}), Relu(), AveragePool2d(2), Relu(),
                    Conv2d(32, 10, {3, 2}, {.groups = 2}), MaxPool2d(2, {.stride = 1}), Dropout(0),
                    GlobalAveragePool2d(), Linear(10, 4));
  const auto batch32 = random_batch<float>(3, {1, 12, 12}, 4, 7);
  const auto batch64 = random_batch<double>(3, {1, 12, 12}, 4, 7);
  const auto in_float = gradients_of(classifier_loss(model), batch32, model.initial_params(5));
  const auto in_double = gradients_of(classifier_loss(model), batch64, model.initial_params(5, Dtype::kFloat64));
  EXPECT_NEAR(in_float.loss, in_double.loss, 1e-6);
  for (std::size_t i = 0; i < in_float.grads.size(); ++i) {
    const auto got = in_float.grads[i].values<float>();
    const auto expected = in_double.grads[i].values<double>();
    for (std::size_t k = 0; k < got.size(); ++k) ASSERT_NEAR(got[k], expected[k], 1e-5) << i;
  }
}

}  // namespace
}  // namespace viva::nn
