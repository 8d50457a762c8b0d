#include "cli/evaluation.h"

#include <gtest/gtest.h>

#include <vector>

#include "viva/nn/classifier.h"
#include "viva/nn/mlp.h"

namespace viva::cli {
namespace {

TEST(Evaluate, EverySampleCountsTheSame) {
  // One full batch of evaluation and a short one, whose samples are harder.
  const nn::Model model = nn::mlp({2, 3, 2});
  const std::vector<Param> params = model.initial_params(5);
  constexpr std::int64_t kSamples = 300;
  std::vector<float> inputs;
  std::vector<std::int32_t> classes;
  for (std::int64_t i = 0; i < kSamples; ++i) {
    inputs.push_back(static_cast<float>(i % 7));
    inputs.push_back(i < 256 ? 0.0F : 9.0F);
    classes.push_back(static_cast<std::int32_t>(i % 2));
  }
  const auto dataset =
      data::Dataset::from_tensors(Tensor::from_values(inputs, {kSamples, 2}), Tensor::from_values(classes));

  double loss = 0;
  std::int64_t correct = 0;
  Arena arena;
  for (std::int64_t i = 0; i < kSamples; ++i) {
    const data::Sample sample = dataset.get(i);
    arena.reset();
    const auto one = nn::judge(model, params, {sample.input.reshape({1, 2}), sample.target.reshape({1})}, arena);
    loss += one.total_loss;
    correct += one.correct;
  }
  const Evaluation result = evaluate(model, params, dataset);
  EXPECT_NEAR(result.loss, loss / kSamples, 1e-6);
  EXPECT_DOUBLE_EQ(result.accuracy, static_cast<double>(correct) / kSamples);
  EXPECT_EQ(result.samples, kSamples);
}

}  // namespace
}  // namespace viva::cli
