// The guard against gradients that are not finite: errors by name, and steps that are skipped without a trace.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <thread>

#include "tests/distributed/regression.h"
#include "tests/distributed/ways.h"

namespace viva::distributed {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class Guard : public test::EveryWay {};
INSTANTIATE_TEST_SUITE_P(Ways, Guard, test::every_way(), test::name_of_way);

data::DataLoader loader(std::int64_t features = 5) {
  return {test::random_dataset<float>(64, features), {.batch_size = 1, .shuffle = true}};
}

// tracked_error, but `spoil` may change the gradients, and its result is the loss.
template <typename F>
ComputeGrads spoiled_grads(F spoil) {
  return [spoil](const StepContext& context, const data::Batch& batch, std::span<const Param> params, GradSink& sink) {
    return spoil(context, sink, test::tracked_error<float>(context, batch, params, sink));
  };
}

void set(GradSink& sink, std::size_t param, std::size_t element, float value) {
  sink.grad(param).mutable_values<float>()[element] = value;
}

std::string error_of(const auto& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST_P(Guard, AnErrorNamesWorkerStepParameterAndIndex) {
  const auto compute = spoiled_grads([](const StepContext& context, GradSink& sink, double loss) {
    if (context.step == 2 && context.worker >= 1) {
      set(sink, 1, 0, kInf);
      set(sink, 0, 4, kNan);
      set(sink, 0, 3, -kInf);
    }
    return loss;
  });
  const TrainConfig config{.num_workers = 3, .non_finite = NonFinite::kError};
  try {
    train(config, test::params_with_buffer<float>(5), optim::sgd(0.1), loader(), compute, 4);
    FAIL() << "no error";
  } catch (const NonFiniteGradient& error) {
    EXPECT_EQ(error.worker, 1);
    EXPECT_EQ(error.step, 2);
    EXPECT_EQ(error.name, "w");
    EXPECT_EQ(error.index, 3);
    EXPECT_EQ(std::string(error.what()), "step 2, worker 1: gradient of 'w' is not finite at element 3");
  }
}

// In the parameter's second chunk.
TEST_P(Guard, FiniteGradientsWhoseSumOverflowsAreCaught) {
  const auto compute = spoiled_grads([](const StepContext& context, GradSink& sink, double loss) {
    if (context.step == 1) set(sink, 0, 4500, context.worker == 0 ? 1e38F : 3e38F);
    return loss;
  });
  TrainConfig config{.num_workers = 2, .aggregation = GradAggregation::kSum, .non_finite = NonFinite::kError};
  // Clipping by value must not hide it.
  config.clipping.value = 1;
  const auto params = test::params_with_buffer<float>(5000);
  try {
    train(config, params, optim::sgd(0.1), loader(5000), compute, 4);
    FAIL() << "no error";
  } catch (const NonFiniteGradient& error) {
    EXPECT_EQ(error.worker, kSumOfWorkers);
    EXPECT_EQ(error.step, 1);
    EXPECT_EQ(error.index, 4500);
    EXPECT_EQ(std::string(error.what()),
              "step 1, the sum over the workers, each of them finite: gradient of 'w' is not finite at element 4500");
  }
  config.non_finite = NonFinite::kSkip;
  const auto result = train(config, params, optim::sgd(0.1), loader(5000), compute, 4);
  EXPECT_EQ(result.skipped, 1);
  EXPECT_EQ(result.steps, 4);
}

// Gradients of one, losses that are the batch's number, a schedule that halves: every step can be told apart.
TEST_P(Guard, ASkippedStepIsCountedAndDataAndScheduleGoOn) {
  const ComputeGrads compute = [](const StepContext& context, const data::Batch&, std::span<const Param>,
                                  GradSink& sink) {
    sink.grad(0).mutable_values<float>()[0] = context.batch == 5 ? kNan : 1;
    return static_cast<double>(context.batch);
  };
  const TrainConfig config{.num_workers = 2,
                           .schedule = {optim::ScheduleKind::kStep, {.period = 1, .gamma = 0.5}},
                           .non_finite = NonFinite::kSkip};
  const std::vector<Param> params{{"w", Tensor::zeros({1})}};
  const auto result = train(config, params, optim::adam(1), loader(), compute, 5);
  EXPECT_EQ(result.steps, 5);
  EXPECT_EQ(result.skipped, 1);
  EXPECT_EQ(result.batches, 10);
  EXPECT_EQ(result.samples, 10);
  EXPECT_EQ(result.total_loss, 0.5 + 2.5 + 6.5 + 8.5);
  EXPECT_EQ(result.last_loss, 8.5);
  EXPECT_EQ(result.final_optimizer.state().at("w").steps, 4);
  // Adam's step for a gradient that is always one is the learning rate.
  EXPECT_NEAR(result.final_params[0].value.item(), -(1 + 0.5 + 0.125 + 0.0625), 1e-5);
}

TEST_P(Guard, AnInfiniteLossSkipsItsStepUnderSkipAndEndsTrainingOtherwise) {
  const auto compute = spoiled_grads(
      [](const StepContext& context, GradSink&, double loss) { return context.batch == 4 ? HUGE_VAL : loss; });
  const auto params = test::params_with_buffer<float>(5);
  TrainConfig config{.num_workers = 2, .non_finite = NonFinite::kSkip};
  const auto result = train(config, params, optim::sgd(0.1), loader(), compute, 4);
  EXPECT_EQ(result.skipped, 1);
  EXPECT_TRUE(std::isfinite(result.total_loss));
  for (const NonFinite policy : {NonFinite::kError, NonFinite::kIgnore}) {
    config.non_finite = policy;
    EXPECT_THROW(train(config, params, optim::sgd(0.1), loader(), compute, 4), WorkerFailed);
  }
}

TEST_P(Guard, LooksAtBuffersButNotAtFrozenParameters) {
  const auto params = test::params_with_buffer<float>(5);
  const optim::Optimizer rule(optim::OptimizerKind::kSgd, {.lr = 0.1}, {{{"b"}, {}, {}, true}});
  const TrainConfig config{.num_workers = 2, .non_finite = NonFinite::kError};
  const auto with_bad = [&](std::size_t param) {
    return error_of([&] {
      train(config, params, rule, loader(), spoiled_grads([param](const StepContext&, GradSink& sink, double loss) {
              set(sink, param, 0, kNan);
              return loss;
            }),
            2);
    });
  };
  EXPECT_EQ(with_bad(1), "no error");
  EXPECT_EQ(with_bad(2), "step 0, worker 0: gradient of 'mean' is not finite at element 0");
}

// Exceptions come through a step that is skipped, whoever computed what.
TEST_P(Guard, AnExceptionIsNoReasonToSkip) {
  const auto compute = spoiled_grads([](const StepContext& context, GradSink& sink, double loss) {
    if (context.batch == 0) set(sink, 0, 0, kNan);
    if (context.batch == 3) throw std::runtime_error("the disk is on fire");
    return loss;
  });
  const TrainConfig config{.num_workers = 4, .non_finite = NonFinite::kSkip};
  EXPECT_THROW(train(config, test::params_with_buffer<float>(5), optim::sgd(0.1), loader(), compute, 4), WorkerFailed);
}

TEST(GuardOfTrainer, ASkippedStepChangesNoBit) {
  const auto compute = spoiled_grads([](const StepContext& context, GradSink& sink, double loss) {
    if (context.batch == 14) set(sink, 1, 0, kNan);
    return loss;
  });
  const TrainConfig config{.num_workers = 3, .batches_per_step = 4, .non_finite = NonFinite::kSkip};
  for (std::int64_t executors = 1; executors <= 3; ++executors) {
    Trainer trainer(config, test::params_with_buffer<float>(5), optim::adamw(0.1), loader(), compute,
                    {.executors = executors});
    trainer.run(3);
    const auto before = trainer.result();
    trainer.run(1);
    const auto after = trainer.result();
    EXPECT_TRUE(test::same_bits(after.final_params, before.final_params));
    EXPECT_TRUE(test::same_bits(after.final_optimizer, before.final_optimizer));
    EXPECT_EQ(after.total_loss, before.total_loss);
    EXPECT_EQ(after.last_loss, before.last_loss);
    EXPECT_EQ(after.skipped, 1);
    EXPECT_EQ(trainer.progress().skipped, 1);
    EXPECT_EQ(trainer.progress().steps, 4);
    trainer.run(1);
    EXPECT_FALSE(test::same_bits(trainer.result().final_params, before.final_params));
    EXPECT_EQ(trainer.result().skipped, 1);
  }
}

// First a worker's own gradient, then the sum, then all is well.
TEST(GuardOfTrainer, AfterAnErrorTheParametersAreAsBeforeAndTrainingMayGoOn) {
  const auto params = test::params_with_buffer<float>(5);
  const TrainConfig config{.num_workers = 2, .aggregation = GradAggregation::kSum, .non_finite = NonFinite::kError};
  const auto run_reference = [&](std::int64_t steps) {
    return train_synchronous(config, params, optim::adam(0.1), loader(), test::tracked_error<float>, steps);
  };
  float spoil = kNan;
  const auto compute = spoiled_grads([&](const StepContext& context, GradSink& sink, double loss) {
    if (context.step == 2 && spoil != 0) set(sink, 0, 1, spoil);
    return loss;
  });
  Trainer trainer(config, params, optim::adam(0.1), loader(), compute, {.executors = 2});
  EXPECT_THROW(trainer.run(4), NonFiniteGradient);
  EXPECT_TRUE(test::same_bits(trainer.result(), run_reference(2)));
  spoil = 3e38F;
  EXPECT_THROW(trainer.run(2), NonFiniteGradient);
  EXPECT_TRUE(test::same_bits(trainer.result(), run_reference(2)));
  spoil = 0;
  EXPECT_EQ(trainer.run(2), 2);
  EXPECT_TRUE(test::same_bits(trainer.result(), run_reference(4)));
}

// Whatever the timing, and whatever else goes wrong, the report is the reference's.
RC_GTEST_PROP(GuardProperty, TheFirstCauseIsReportedWhateverTheTiming, ()) {
  const auto workers = *rc::gen::inRange<std::int64_t>(1, 9);
  const auto batches = *rc::gen::inRange<std::int64_t>(1, 20);
  const auto executors = *rc::gen::inRange<std::int64_t>(1, 6);
  const auto policy = *rc::gen::element(NonFinite::kError, NonFinite::kSkip);
  // 0: an exception, 1: a loss, 2: a gradient, 3: a sum, others: nothing.
  const auto troubles = *rc::gen::container<std::vector<int>>(40, rc::gen::inRange(0, 24));
  const auto delays = *rc::gen::container<std::vector<int>>(40, rc::gen::inRange(0, 300));
  const auto compute = spoiled_grads([&](const StepContext& context, GradSink& sink, double loss) {
    const auto number = static_cast<std::size_t>(context.batch);
    if (troubles[number] > 3) return loss;
    std::this_thread::sleep_for(std::chrono::microseconds(delays[number]));
    if (troubles[number] == 0) throw std::runtime_error(std::to_string(context.batch));
    if (troubles[number] == 1) return HUGE_VAL;
    set(sink, number % 3, 0, troubles[number] == 2 ? kNan : 3.4e38F);
    return loss;
  });
  const TrainConfig config{
      .num_workers = workers, .batches_per_step = batches, .aggregation = GradAggregation::kSum, .non_finite = policy};
  const auto params = test::params_with_buffer<float>(5);
  const std::int64_t steps = 40 / batches;
  const auto reference =
      error_of([&] { train_synchronous(config, params, optim::sgd(0.1), loader(), compute, steps); });
  Trainer trainer(config, params, optim::sgd(0.1), loader(), compute, {.executors = executors});
  RC_ASSERT(error_of([&] { trainer.run(steps); }) == reference);
}

}  // namespace
}  // namespace viva::distributed
