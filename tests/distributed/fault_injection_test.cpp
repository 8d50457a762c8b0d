// Injected faults: their grammar, and that training bears each of them with the reference's bits.
#include "viva/distributed/fault_injection.h"

#include <gmock/gmock.h>

#include <set>
#include <string>
#include <thread>

#include "tests/distributed/faulty.h"
#include "tests/distributed/processes.h"
#include "tests/distributed/regression.h"
#include "viva/distributed/trainer.h"

namespace viva::distributed {
namespace {

using Kind = Fault::Kind;
using testing::HasSubstr;

TEST(FaultText, IsReadAsItSays) {
  const Fault kill = parse_fault("kill:worker=1,step=7");
  EXPECT_EQ(kill.kind, Kind::kKill);
  EXPECT_EQ(kill.worker, 1);
  EXPECT_EQ(kill.step, 7);
  EXPECT_EQ(kill.times, 1);
  EXPECT_EQ(kill.seconds, 0);
  EXPECT_EQ(parse_fault("kill:after=20ms").seconds, 0.02);
  const Fault hang = parse_fault("hang:times=3,step=0");
  EXPECT_EQ(hang.kind, Kind::kHang);
  EXPECT_EQ(hang.worker, std::nullopt);
  EXPECT_EQ(hang.times, 3);
  EXPECT_EQ(parse_fault("throw").kind, Kind::kThrow);
  EXPECT_EQ(parse_fault("nan:worker=0").kind, Kind::kNan);
  EXPECT_EQ(parse_fault("slow=200ms").seconds, 0.2);
  EXPECT_EQ(parse_fault("slow=1.5s,worker=4").worker, 4);
  const Fault random = parse_fault("random-kill=0.01,seed=3");
  EXPECT_EQ(random.kind, Kind::kRandomKill);
  EXPECT_EQ(random.probability, 0.01);
  EXPECT_EQ(random.seed, 3U);
}

TEST(FaultText, EverythingElseIsRefused) {
  for (const char* text : {"",
                           ":",
                           "boom",
                           "kill:worker",
                           "kill:worker=",
                           "kill:worker=x",
                           "kill:worker=-1",
                           "kill:worker=1x",
                           "kill:times=0",
                           "kill:colour=1",
                           "kill:seed=1",
                           "kill:after=1",
                           "hang:after=1s",
                           "slow",
                           "slow=",
                           "slow=5",
                           "slow=-1s",
                           "slow=nans",
                           "slow=infs",
                           "slow=1s,times=2",
                           "random-kill",
                           "random-kill=2",
                           "random-kill=-0.1",
                           "random-kill=nan",
                           "random-kill=0.1,seed=-1",
                           "kill:step=99999999999999999999"}) {
    try {
      parse_fault(text);
      ADD_FAILURE() << text;
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.key, "inject");
      EXPECT_THAT(error.what(), HasSubstr(std::string("\"") + text + "\""));
    }
  }
}

class FaultInjection : public test::ProcessTest {
 protected:
  const TrainConfig config_{.num_workers = 3, .batches_per_step = 6};
  const std::vector<Param> params_ = test::random_params<float>(3);
  const data::DataLoader loader_{test::random_dataset<float>(64, 3), {.batch_size = 1, .shuffle = true}};

  TrainerOptions processes() const {
    TrainerOptions options = test::processes(2);
    options.step_timeout = std::chrono::milliseconds(500);
    return options;
  }
  ComputeGrads with(const std::vector<std::string>& texts) const {
    std::vector<Fault> faults;
    for (const std::string& text : texts) faults.push_back(parse_fault(text));
    return with_faults(test::squared_error<float>, faults, config_.num_workers);
  }
  TrainResult reference(std::int64_t steps) const {
    return train_synchronous(config_, params_, optim::adam(0.1), loader_, test::squared_error<float>, steps);
  }
};

TEST_F(FaultInjection, TrainingBearsDeaths) {
  Trainer trainer(
      config_, params_, optim::adam(0.1), loader_,
      with({"kill:worker=1,step=2", "hang:worker=2,step=4", "kill:step=5,times=2", "random-kill=0.1,seed=3"}),
      processes());
  EXPECT_EQ(trainer.run(10), 10);
  EXPECT_TRUE(test::same_bits(trainer.result(), reference(10)));
  EXPECT_GT(trainer.progress().restarts, 4);
}

// In the callback or after it, in this step or in a later one.
TEST_F(FaultInjection, ADeathComesWhenItWillAndIsBorne) {
  const auto slow = [](const StepContext& context, const data::Batch& batch, std::span<const Param> params,
                       GradSink& sink) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return test::squared_error<float>(context, batch, params, sink);
  };
  const std::vector<Fault> faults{parse_fault("kill:worker=1,step=2,after=2ms"),
                                  parse_fault("kill:worker=2,step=5,after=12ms")};
  Trainer trainer(config_, params_, optim::adam(0.1), loader_, with_faults(slow, faults, config_.num_workers),
                  processes());
  EXPECT_EQ(trainer.run(10), 10);
  EXPECT_TRUE(test::same_bits(trainer.result(), reference(10)));
  EXPECT_EQ(trainer.progress().restarts, 2);
}

// The same seed, the same deaths, whoever computes what.
TEST_F(FaultInjection, RandomDeathsAreAFunctionOfTheSeed) {
  std::set<std::int64_t> restarts;
  for (const std::int64_t executors : {1, 2, 3}) {
    TrainerOptions options = processes();
    options.executors = executors;
    Trainer trainer(config_, params_, optim::adam(0.1), loader_, with({"random-kill=0.1,seed=3"}), options);
    EXPECT_EQ(trainer.run(10), 10);
    restarts.insert(trainer.progress().restarts);
  }
  EXPECT_EQ(restarts.size(), 1U);
  EXPECT_GT(*restarts.begin(), 0);
}

TEST_F(FaultInjection, TwoDeathsAreBorneAndThreeAreNot) {
  const auto restarts = [&](const char* times) {
    Trainer trainer(config_, params_, optim::adam(0.1), loader_,
                    with({std::string("kill:worker=1,step=2,times=") + times}), processes());
    trainer.run(4);
    return trainer.progress().restarts;
  };
  EXPECT_EQ(restarts("2"), 2);
  EXPECT_THROW(restarts("3"), WorkerDied);
}

TEST_F(FaultInjection, AnExceptionEndsTrainingUnlessItIsRetried) {
  for (const ExecutorKind kind : {ExecutorKind::kProcesses, ExecutorKind::kThreads}) {
    TrainerOptions options = processes();
    options.kind = kind;
    {
      Trainer trainer(config_, params_, optim::adam(0.1), loader_, with({"throw:worker=1,step=2"}), options);
      EXPECT_THROW(trainer.run(4), WorkerFailed);
      EXPECT_TRUE(test::same_bits(trainer.result(), reference(2)));
    }
    options.attempts_per_batch = 3;
    std::vector<std::string> lines;
    options.log = [&](LogLevel, std::string_view line) { lines.emplace_back(line); };
    const auto texts = {std::string("throw:worker=1,step=2,times=2")};
    Trainer trainer(config_, params_, optim::adam(0.1), loader_, with(texts), options);
    EXPECT_EQ(trainer.run(4), 4);
    EXPECT_TRUE(test::same_bits(trainer.result(), reference(4)));
    EXPECT_EQ(trainer.progress().retries, 1);
    ASSERT_FALSE(lines.empty());
    EXPECT_EQ(lines.back(), "step 2: worker 1 failed in batch 13, which was computed again: an exception was injected");
  }
}

TEST_F(FaultInjection, ANanIsForTheGuard) {
  TrainConfig config = config_;
  config.non_finite = NonFinite::kError;
  Trainer trainer(config, params_, optim::adam(0.1), loader_, with({"nan:worker=1,step=2"}), processes());
  EXPECT_THROW(trainer.run(4), NonFiniteGradient);
}

TEST_F(FaultInjection, ASlowWorkerShowsInTheTimes) {
  for (const ExecutorKind kind : {ExecutorKind::kProcesses, ExecutorKind::kThreads}) {
    TrainerOptions options = processes();
    options.kind = kind;
    Trainer trainer(config_, params_, optim::adam(0.1), loader_, with({"slow=5ms,worker=1"}), options);
    EXPECT_EQ(trainer.run(5), 5);
    EXPECT_TRUE(test::same_bits(trainer.result(), reference(5)));
    const auto seconds = trainer.worker_seconds();
    ASSERT_EQ(seconds.size(), 3U);
    // Two batches in each of five steps.
    EXPECT_GE(seconds[1], 0.05);
    EXPECT_LT(seconds[0], 0.05);
    EXPECT_LT(seconds[2], 0.05);
  }
}

}  // namespace
}  // namespace viva::distributed
