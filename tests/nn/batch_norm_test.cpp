// BatchNorm: its values in training and in evaluation, and the rule of its running statistics on any executors.
#include "viva/nn/batch_norm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/nn/model_gradients.h"
#include "viva/distributed/trainer.h"
#include "viva/nn/layers.h"
#include "viva/tensor/kernel_scope.h"

namespace viva::nn {
namespace {

Tensor output_of(const Model& model, std::span<const Param> params, const Tensor& x, Mode mode) {
  const KernelScope scope;
  Arena arena;
  autograd::Tape tape(arena, nullptr);
  const StepContext context{.mode = mode, .arena = arena};
  return model(Params(tape, context, params), x).value().clone();
}

TEST(BatchNorm, NormalisesByTheBatchInTrainingAndByTheBuffersInEvaluation) {
  const Model model{BatchNorm(2, 0)};
  auto params = model.initial_params(0, Dtype::kFloat64);
  ASSERT_EQ(params.size(), 4U);
  EXPECT_EQ(params[2].name, "running_mean");
  EXPECT_EQ(params[2].role, ParamRole::kBuffer);
  params[0].value.mutable_values<double>()[0] = 3;
  params[1].value.mutable_values<double>()[0] = 10;
  params[2].value.mutable_values<double>()[0] = 1;
  params[3].value.mutable_values<double>()[0] = 4;
  // Channel 0 has the values 1 and 5: mean 3, deviation 2.
  const Tensor x = Tensor::from_values<double>({1, 7, 5, 9}, {2, 2});
  const Tensor trained = output_of(model, params, x, Mode::kTraining);
  EXPECT_DOUBLE_EQ(trained.values<double>()[0], 10 - 3);
  EXPECT_DOUBLE_EQ(trained.values<double>()[2], 10 + 3);
  const Tensor evaluated = output_of(model, params, x, Mode::kEvaluation);
  EXPECT_DOUBLE_EQ(evaluated.values<double>()[0], 10);
  EXPECT_DOUBLE_EQ(evaluated.values<double>()[2], 10 + 3 * 2);
}

TEST(BatchNorm, ABatchOfOneValueAndOtherChannelsAreNamed) {
  const Model model(Linear(2, 3), BatchNorm(3));
  const auto params = model.initial_params(0);
  EXPECT_THROW(output_of(model, params, Tensor::zeros({1, 2}), Mode::kTraining), InvalidShape);
  EXPECT_NO_THROW(output_of(model, params, Tensor::zeros({1, 2}), Mode::kEvaluation));
  const Model wrong(Linear(2, 4), BatchNorm(3));
  try {
    output_of(wrong, wrong.initial_params(0), Tensor::zeros({2, 2}), Mode::kEvaluation);
    FAIL();
  } catch (const ShapeMismatch& error) {
    EXPECT_NE(std::string(error.what()).find("'1' (BatchNorm)"), std::string::npos) << error.what();
  }
}

// Two workers of two samples: the running mean moves by a tenth towards the mean of the batches' means.
TEST(BatchNorm, RunningStatisticsAreThoseOfTheStepsBatches) {
  const Model model(BatchNorm(1), Linear(1, 2));
  const auto dataset =
      data::Dataset::from_tensors(Tensor::from_values<float>({1, 3, 6, 10}, {4, 1}), Tensor::zeros({4}, Dtype::kInt32));
  for (const std::int64_t executors : {1, 2}) {
    distributed::Trainer trainer({.num_workers = 2}, model.initial_params(1), optim::sgd(0.1),
                                 data::DataLoader(dataset, {.batch_size = 2}), classifier_loss(model),
                                 {.executors = executors});
    trainer.run(1);
    const auto result = trainer.result();
    EXPECT_EQ(result.final_params[2].name, "0.running_mean");
    EXPECT_NEAR(result.final_params[2].value.item(), 0.1 * (2 + 8) / 2, 1e-6);
    EXPECT_NEAR(result.final_params[3].value.item(), 0.9 + 0.1 * (2 + 8) / 2, 1e-6);
  }
}

}  // namespace
}  // namespace viva::nn
