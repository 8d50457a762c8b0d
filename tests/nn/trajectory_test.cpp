// Ten steps of each reference model against PyTorch's losses: see tests/nn/fixtures/make_trajectory_fixture.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>

#include "tests/nn/fixtures/trajectory_fixture.h"
#include "viva/distributed/trainer.h"
#include "viva/nn/classifier.h"
#include "viva/nn/cnn.h"
#include "viva/nn/gpt.h"
#include "viva/nn/mlp.h"

namespace viva::nn {
namespace {

// The script's formulas.

// SplitMix64's output number stream * 2^32 + i.
std::uint64_t bits(std::uint64_t stream, std::uint64_t i) {
  std::uint64_t z = ((stream << 32) + i + 1) * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

double uniform(std::uint64_t stream, std::uint64_t i) {
  return std::ldexp(static_cast<double>(bits(stream, i) >> 40), -24);
}

std::vector<Param> formula_params(const Model& model, Dtype dtype) {
  std::vector<Param> params;
  for (const ParamSpec& spec : model.specs()) {
    const bool scales = spec.name.find("norm") != std::string::npos && spec.name.ends_with("weight");
    const double fan = static_cast<double>(element_count(spec.shape) / spec.shape.front());
    const double scale = spec.shape.size() > 1 ? 1 / std::sqrt(fan) : 0.1;
    const Tensor value = Tensor::zeros(spec.shape);
    std::uint64_t i = 0;
    for (float& x : value.mutable_values<float>()) {
      x = scales ? 1 : static_cast<float>((2 * uniform(1 + params.size(), i++) - 1) * scale);
    }
    params.push_back({spec.name, value.to(dtype)});
  }
  return params;
}

Tensor integers(std::uint64_t stream, Shape shape, std::uint64_t below) {
  const Tensor tensor = Tensor::zeros(std::move(shape), Dtype::kInt32);
  std::uint64_t i = 0;
  for (std::int32_t& x : tensor.mutable_values<std::int32_t>())
    x = static_cast<std::int32_t>(bits(stream, i++) % below);
  return tensor;
}

data::Dataset images(std::int64_t batch, Dtype dtype) {
  const Tensor pixels = Tensor::zeros({fixture::kBatches * batch, 28, 28});
  std::uint64_t i = 0;
  for (float& x : pixels.mutable_values<float>()) x = static_cast<float>(uniform(1000, i++));
  return data::Dataset::from_tensors(pixels.to(dtype), integers(1001, {fixture::kBatches * batch}, 10));
}

data::Dataset texts(std::int64_t batch) {
  const Shape shape{fixture::kBatches * batch, 64};
  return data::Dataset::from_tensors(integers(1000, shape, 65), integers(1001, shape, 65));
}

// The losses of `steps` steps, and the next batch's after them.
void expect_losses(const Model& model, const data::Dataset& dataset, const optim::Optimizer& optimizer, Dtype dtype,
                   std::span<const double> expected, double bound, std::size_t steps = fixture::kSteps) {
  const std::int64_t batch_size = dataset.size() / fixture::kBatches;
  const data::DataLoader loader(dataset, {.batch_size = batch_size});
  const distributed::ComputeGrads compute_grads = classifier_loss(model);
  distributed::Trainer trainer({.num_workers = 1}, formula_params(model, dtype), optimizer, loader, compute_grads);
  double largest = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    ASSERT_EQ(trainer.run(1), 1);
    const double loss = trainer.progress().last_loss;
    EXPECT_NEAR(loss, expected[step], bound) << "step " << step;
    largest = std::max(largest, std::abs(loss - expected[step]));
  }
  Arena arena;
  const auto next = static_cast<std::int64_t>(steps % fixture::kBatches);
  const Judgement judgement = judge(model, trainer.params(), loader.batches().batch(next), arena);
  const double loss = judgement.total_loss / static_cast<double>(judgement.targets);
  EXPECT_NEAR(loss, expected[steps], bound) << "after the last step";
  std::cout << "largest difference " << std::max(largest, std::abs(loss - expected[steps])) << "\n";
}

const fixture::Trajectory& trajectory(std::string_view model) {
  return *std::ranges::find(fixture::kTrajectories, model, &fixture::Trajectory::model);
}

constexpr double kBound = 1e-4, kBoundInFloat64 = 1e-9;

TEST(Trajectory, OfThePerceptron) {
  const Model model = mlp({784, 256, 128, 10});
  const auto& expected = trajectory("mlp");
  const auto rule = optim::sgd_momentum(0.05, 0.9);
  expect_losses(model, images(64, Dtype::kFloat32), rule, Dtype::kFloat32, expected.in_float32, kBound);
  expect_losses(model, images(64, Dtype::kFloat64), rule, Dtype::kFloat64, expected.in_float64, kBoundInFloat64);
}

// In float64 its convolutions are plain loops, too slow for this.
TEST(Trajectory, OfTheConvolutionalNetwork) {
  const Model model = cnn({.algorithm = Conv2dAlgorithm::kDirect});
  expect_losses(model, images(16, Dtype::kFloat32), optim::adam(1e-3), Dtype::kFloat32, trajectory("cnn").in_float32,
                kBound);
}

TEST(Trajectory, OfTheLanguageModel) {
  const Model model = gpt({});
  const auto& expected = trajectory("gpt");
  const auto rule = optim::adamw(1e-3, 0.01);
  expect_losses(model, texts(4), rule, Dtype::kFloat32, expected.in_float32, kBound);
  expect_losses(model, texts(4), rule, Dtype::kFloat64, expected.in_float64, kBoundInFloat64, 3);
}

}  // namespace
}  // namespace viva::nn
