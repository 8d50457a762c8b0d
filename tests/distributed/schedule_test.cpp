// A schedule's factor reaches the update, by the number of the step.
#include <gtest/gtest.h>

#include "tests/distributed/regression.h"
#include "viva/distributed/trainer.h"

namespace viva::distributed {
namespace {

// With a gradient of one, a parameter falls by the learning rate in every step.
TEST(ScheduleInTraining, TheLearningRateIsMultipliedByStep) {
  const ComputeGrads ones = [](const data::Batch&, std::span<const Param>) {
    return LossAndGrads{1, {{"w", Tensor::from_values<double>({1})}}};
  };
  const std::vector<Param> params{{"w", Tensor::from_values<double>({0})}};
  const data::DataLoader loader(test::random_dataset<double>(8, 1), {.batch_size = 1});
  const TrainConfig config{
      .num_workers = 2,
      .schedule = {optim::ScheduleKind::kStep, {.warmup_steps = 2, .period = 1, .gamma = 0.5}},
  };
  const double expected = -(0.5 + 1 + 1 + 0.5 + 0.25);
  EXPECT_EQ(train_synchronous(config, params, optim::sgd(1), loader, ones, 5).final_params[0].value.item(), expected);
  Trainer trainer(config, params, optim::sgd(1), loader, ones, {.executors = 2});
  // A run goes on with the step's number, not from the schedule's beginning.
  trainer.run(3);
  trainer.run(2);
  EXPECT_EQ(trainer.result().final_params[0].value.item(), expected);
}

}  // namespace
}  // namespace viva::distributed
