// What every way to train does about a worker that stops, fails, leaves something out, is late or has nothing to do.
#include <gmock/gmock.h>

#include <chrono>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/distributed/regression.h"
#include "tests/distributed/ways.h"

namespace viva::distributed {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class Ways : public test::EveryWay {
 protected:
  static data::DataLoader loader_of(std::int64_t samples) {
    return {test::random_dataset<float>(samples, 3), {.batch_size = 1, .shuffle = true, .seed = 5}};
  }
  static TrainResult train_with(const TrainConfig& config, const data::DataLoader& loader, const ComputeGrads& compute,
                                std::int64_t steps) {
    return train(config, test::random_params<float>(3), optim::adam(0.1), loader, compute, steps);
  }
  // squared_error, and `deed` where it is worker 1's turn in step 3.
  template <typename F>
  static ComputeGrads with_deed(F deed) {
    return [deed](const StepContext& context, const data::Batch& batch, std::span<const Param> params, GradSink& sink) {
      double loss = test::squared_error<float>(context, batch, params, sink);
      if (context.step == 3 && context.worker == 1) deed(loss, sink);
      return loss;
    };
  }
  static TrainResult plain(const TrainConfig& config, const data::DataLoader& loader, std::int64_t steps) {
    return train_synchronous(config, test::random_params<float>(3), optim::adam(0.1), loader,
                             test::squared_error<float>, steps);
  }
};

INSTANTIATE_TEST_SUITE_P(All, Ways, test::every_way(), test::name_of_way);

TEST_P(Ways, OneWorkerAsksToStopAndAllDo) {
  const TrainConfig config{.num_workers = 3, .batches_per_step = 5};
  const auto stopping = with_deed([](double&, GradSink& sink) { sink.request_stop(); });
  const TrainResult result = train_with(config, loader_of(64), stopping, 10);
  EXPECT_EQ(result.steps, 4);
  EXPECT_TRUE(test::same_bits(result, plain(config, loader_of(64), 4)));
}

TEST_P(Ways, ASkippedStepMayBeTheLastOne) {
  const auto deed = [](double& loss, GradSink& sink) {
    loss = std::numeric_limits<double>::quiet_NaN();
    sink.request_stop();
  };
  const TrainConfig config{.num_workers = 3, .non_finite = NonFinite::kSkip};
  const TrainResult result = train_with(config, loader_of(64), with_deed(deed), 10);
  EXPECT_EQ(result.steps, 4);
  EXPECT_EQ(result.skipped, 1);
}

TEST_P(Ways, TheFirstCauseIsWhatTheUserSees) {
  const auto failing = with_deed([](double&, GradSink&) { throw std::runtime_error("the disk is on fire"); });
  try {
    train_with({.num_workers = 3}, loader_of(64), failing, 10);
    FAIL() << "no error";
  } catch (const WorkerFailed& error) {
    EXPECT_EQ(error.step, 3);
    EXPECT_EQ(error.worker, 1);
    EXPECT_EQ(error.batch, 10);
    EXPECT_EQ(error.cause, "the disk is on fire");
  }
}

TEST_P(Ways, AGradientThatOneWorkerOmitsIsNamedWithTheWorker) {
  const auto omitting = with_deed([](double&, GradSink& sink) {
    sink.clear();
    sink.grad("w");
  });
  try {
    train_with({.num_workers = 3}, loader_of(64), omitting, 10);
    FAIL() << "no error";
  } catch (const DimensionError& error) {
    EXPECT_EQ(error.name, "b");
    EXPECT_THAT(error.what(), HasSubstr("worker 1: no gradient for 'b'"));
  }
}

// Seven batches for two workers: four and three.
TEST_P(Ways, WorkersMayHaveDifferentNumbersOfBatches) {
  const TrainConfig config{.num_workers = 2, .epochs = 1};
  const TrainResult result = train_with(config, loader_of(7), test::squared_error<float>, -1);
  EXPECT_EQ(result.steps, 4);
  EXPECT_EQ(result.samples, 7);
  EXPECT_TRUE(test::same_bits(result, plain(config, loader_of(7), -1)));
}

TEST_P(Ways, MoreWorkersThanSamples) {
  const TrainConfig config{.num_workers = 7, .epochs = 4};
  const TrainResult result = train_with(config, loader_of(3), test::squared_error<float>, -1);
  EXPECT_EQ(result.samples, 12);
  EXPECT_TRUE(test::same_bits(result, plain(config, loader_of(3), -1)));
}

TEST_P(Ways, ALateWorkerIsNamedWhileAllWait) {
  if (GetParam().executors == 0) GTEST_SKIP() << "the reference waits for nobody";
  std::vector<std::string> lines;
  TrainerOptions options = trainer_options();
  options.waiting_notice = milliseconds(100);
  options.log = [&](LogLevel level, std::string_view line) {
    if (level == LogLevel::kInfo) lines.emplace_back(line);
  };
  const auto late = with_deed([](double&, GradSink&) { std::this_thread::sleep_for(milliseconds(350)); });
  Trainer trainer({.num_workers = 3}, test::random_params<float>(3), optim::adam(0.1), loader_of(64), late, options);
  EXPECT_EQ(trainer.run(6), 6);
  ASSERT_GE(lines.size(), 2U);
  for (const std::string& line : lines) EXPECT_THAT(line, HasSubstr("step 3: waiting for worker 1 in batch 10, 0."));
}

TEST_P(Ways, TheReportKnowsTheSlowWorkerFromThoseWhoWait) {
  if (GetParam().executors == 0) GTEST_SKIP() << "the reference waits for nobody";
  const auto slow = [](const StepContext& context, const data::Batch& batch, std::span<const Param> params,
                       GradSink& sink) {
    if (context.worker == 1) std::this_thread::sleep_for(milliseconds(20));
    return test::squared_error<float>(context, batch, params, sink);
  };
  Trainer trainer({.num_workers = 3}, test::random_params<float>(3), optim::adam(0.1), loader_of(64), slow,
                  trainer_options());
  trainer.run(5);
  const auto seconds = trainer.worker_seconds();
  EXPECT_GE(seconds[1], 0.1);
  EXPECT_LT(seconds[0] + seconds[2], seconds[1] / 2);
}

}  // namespace
}  // namespace viva::distributed
