// The perceptron: its gradient against finite differences, its values against a plain computation.
#include "viva/nn/mlp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/nn/model_gradients.h"

namespace viva::nn {
namespace {

using test::random_batch;

test::LossGradients gradients(const Model& model, const data::Batch& batch, std::span<const Param> params) {
  return test::gradients_of(classifier_loss(model), batch, params);
}

TEST(Mlp, TheGradientIsThatOfFiniteDifferences) {
  for (const auto& sizes : std::vector<std::vector<std::int64_t>>{{6, 5, 4, 3}, {4, 3}, {1, 1, 1}, {3, 17, 2}}) {
    for (const std::int64_t n : {1, 2, 7}) {
      const Model model = mlp(sizes);
      const auto params = model.initial_params(3, Dtype::kFloat64);
      const auto batch = random_batch<double>(n, {sizes.front()}, sizes.back(), 5);
      const auto exact = gradients(model, batch, params);
      for (std::size_t p = 0; p < params.size(); ++p) {
        const auto values = params[p].value.mutable_values<double>();
        for (std::size_t i = 0; i < values.size(); ++i) {
          constexpr double kStep = 1e-6;
          const double value = values[i];
          values[i] = value + kStep;
          const double above = gradients(model, batch, params).loss;
          values[i] = value - kStep;
          const double below = gradients(model, batch, params).loss;
          values[i] = value;
          EXPECT_NEAR(exact.grads[p].values<double>()[i], (above - below) / (2 * kStep), 1e-8) << params[p].name;
        }
      }
    }
  }
}

// One hidden unit, by hand: x = 2, w = 0.5, b = 1 → h = 2; logits (h, -h + 1).
TEST(Mlp, ValuesByHand) {
  const Model model = mlp({1, 1, 2});
  std::vector<Param> params = model.initial_params(0, Dtype::kFloat64);
  params[0].value.mutable_values<double>()[0] = 0.5;
  params[1].value.mutable_values<double>()[0] = 1;
  params[2].value.mutable_values<double>()[0] = 1;
  params[2].value.mutable_values<double>()[1] = -1;
  params[3].value.mutable_values<double>()[0] = 0;
  params[3].value.mutable_values<double>()[1] = 1;
  const data::Batch batch{Tensor::from_values<double>({2}, {1, 1}), Tensor::from_values<std::int32_t>({1})};
  const double p1 = std::exp(-1) / (std::exp(2) + std::exp(-1));
  const auto result = gradients(model, batch, params);
  EXPECT_NEAR(result.loss, -std::log(p1), 1e-12);
  EXPECT_NEAR(result.grads[3].values<double>()[1], p1 - 1, 1e-12);
  EXPECT_NEAR(result.grads[2].values<double>()[0], 2 * (1 - p1), 1e-12);
  EXPECT_NEAR(result.grads[0].values<double>()[0], 2 * ((1 - p1) * 1 + (p1 - 1) * -1), 1e-12);
  Arena arena;
  const auto evaluation = judge(model, params, batch, arena);
  EXPECT_NEAR(evaluation.total_loss, result.loss, 1e-12);
  EXPECT_EQ(evaluation.correct, 0);
}

// float32 runs other kernels than float64: they agree, tails of batches and layers included.
TEST(Mlp, Float32AgreesWithFloat64) {
  const Model model = mlp({784, 256, 128, 10});
  const auto params = model.initial_params(1);
  std::vector<Param> wide;
  for (const Param& p : params) wide.push_back({p.name, p.value.to(Dtype::kFloat64)});
  for (const std::int64_t n : {1, 5, 32, 64}) {
    auto batch = random_batch<float>(n, {28, 28}, 10, 7);
    const auto narrow = gradients(model, batch, params);
    batch.inputs = batch.inputs.to(Dtype::kFloat64);
    const auto exact = gradients(model, batch, wide);
    EXPECT_NEAR(narrow.loss, exact.loss, 1e-5);
    for (std::size_t p = 0; p < params.size(); ++p) {
      const auto a = narrow.grads[p].values<float>();
      const auto b = exact.grads[p].values<double>();
      for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 2e-6) << params[p].name << " " << i;
    }
  }
}

TEST(Mlp, InitialParametersAreAFunctionOfTheSeedWithinTheirBound) {
  const Model model = mlp({100, 20, 3});
  const auto a = model.initial_params(1), b = model.initial_params(1), c = model.initial_params(2);
  ASSERT_EQ(a.size(), 4U);
  EXPECT_EQ(a[0].name, "layers.0.weight");
  EXPECT_EQ(a[3].name, "layers.1.bias");
  EXPECT_EQ(a[0].value.shape(), (Shape{20, 100}));
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(bitwise_equal(a[i].value, b[i].value));
    EXPECT_FALSE(bitwise_equal(a[i].value, c[i].value));
  }
  double largest = 0;
  for (const float x : a[0].value.values<float>()) largest = std::max(largest, std::abs(static_cast<double>(x)));
  EXPECT_LE(largest, 0.1);
  EXPECT_GT(largest, 0.09);
}

TEST(Mlp, WhatDoesNotFitIsNamed) {
  EXPECT_THROW(mlp({784}), InvalidShape);
  EXPECT_THROW(mlp({784, 0, 10}), InvalidShape);
  const Model model = mlp({4, 3});
  auto params = model.initial_params(1);
  const auto batch = random_batch<float>(2, {4}, 3, 1);
  EXPECT_THROW(gradients(model, random_batch<float>(2, {5}, 3, 1), params), ShapeMismatch);
  EXPECT_THROW(gradients(model, random_batch<double>(2, {4}, 3, 1), params), DtypeError);
  EXPECT_THROW(gradients(model, batch, std::span(params).first(1)), DimensionError);
  batch.targets.mutable_values<std::int32_t>()[1] = 3;
  EXPECT_THROW(gradients(model, batch, params), IndexOutOfBounds);
  batch.targets.mutable_values<std::int32_t>()[1] = -1;
  EXPECT_THROW(gradients(model, batch, params), IndexOutOfBounds);
  params[0].value = Tensor::zeros({4, 3});
  EXPECT_THROW(gradients(model, random_batch<float>(2, {4}, 3, 1), params), ShapeMismatch);
}

}  // namespace
}  // namespace viva::nn
