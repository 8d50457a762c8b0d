// What goes wrong in a callback ends training by its name, and leaves the parameters as they were.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>

#include "tests/distributed/regression.h"
#include "viva/distributed/trainer.h"

namespace viva::distributed {
namespace {

using std::chrono::milliseconds;

data::DataLoader small_loader(std::int64_t samples = 64) {
  return {test::random_dataset<float>(samples, 3), {.batch_size = 1, .shuffle = true}};
}

// squared_error, but `spoil` sees the context first.
template <typename F>
ComputeGrads spoiled_loss(F spoil) {
  return [spoil](const StepContext& context, const data::Batch& batch, std::span<const Param> params, GradSink& sink) {
    const double loss = test::squared_error<float>(context, batch, params, sink);
    return spoil(context, loss);
  };
}

struct Cause {
  std::int64_t step = -1, worker = -1, batch = -1;
  std::string text;
  bool operator==(const Cause&) const = default;
};

template <typename F>
Cause cause_of(F&& run) {
  try {
    run();
  } catch (const WorkerFailed& error) {
    return {error.step, error.worker, error.batch, error.cause};
  }
  return {};
}

TEST(Failure, AnExceptionNamesStepWorkerAndBatchAndNothingIsApplied) {
  const auto params = test::random_params<float>(3);
  const TrainConfig config{.num_workers = 3, .batches_per_step = 6};
  const auto reference =
      train_synchronous(config, params, optim::adam(0.1), small_loader(), test::squared_error<float>, 2);
  const auto throws = spoiled_loss([](const StepContext& context, double loss) {
    if (context.step == 2 && context.worker == 1) throw std::runtime_error("the disk is on fire");
    return loss;
  });
  const Cause expected{2, 1, 13, "the disk is on fire"};
  EXPECT_EQ(cause_of([&] { train_synchronous(config, params, optim::adam(0.1), small_loader(), throws, 5); }),
            expected);
  for (std::int64_t executors = 1; executors <= 4; ++executors) {
    Trainer trainer(config, params, optim::adam(0.1), small_loader(), throws, {.executors = executors});
    EXPECT_EQ(cause_of([&] { trainer.run(5); }), expected);
    EXPECT_TRUE(test::same_bits(trainer.result(), reference)) << executors;
    // It would come again, and it does.
    EXPECT_EQ(cause_of([&] { trainer.run(5); }), expected);
    EXPECT_TRUE(test::same_bits(trainer.result(), reference)) << executors;
  }
}

TEST(Failure, ARunAfterAPassingFailureGoesOnAsIfNothingHadHappened) {
  const auto params = test::random_params<float>(3);
  const TrainConfig config{.num_workers = 3};
  const auto reference =
      train_synchronous(config, params, optim::adam(0.1), small_loader(), test::squared_error<float>, 6);
  std::atomic<bool> broken{true};
  const auto compute = spoiled_loss([&](const StepContext& context, double loss) {
    if (context.step == 3 && context.worker == 2 && broken.exchange(false)) throw std::runtime_error("once");
    return loss;
  });
  Trainer trainer(config, params, optim::adam(0.1), small_loader(), compute, {.executors = 2});
  EXPECT_THROW(trainer.run(6), WorkerFailed);
  EXPECT_EQ(trainer.run(3), 3);
  EXPECT_TRUE(test::same_bits(trainer.result(), reference));
}

// Whatever the timing: many workers fail, each after another time, and the report is the reference's.
RC_GTEST_PROP(FailureProperty, TheFirstCauseIsReportedWhateverTheTiming, ()) {
  const auto workers = *rc::gen::inRange<std::int64_t>(1, 9);
  const auto batches = *rc::gen::inRange<std::int64_t>(1, 20);
  const auto executors = *rc::gen::inRange<std::int64_t>(1, 6);
  const auto bad = *rc::gen::container<std::set<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 40));
  const auto delays = *rc::gen::container<std::vector<int>>(40, rc::gen::inRange(0, 300));
  const auto compute = spoiled_loss([&](const StepContext& context, double loss) {
    if (bad.count(context.batch) == 0) return loss;
    std::this_thread::sleep_for(std::chrono::microseconds(delays[static_cast<std::size_t>(context.batch)]));
    if (context.batch % 2 == 0) return std::numeric_limits<double>::quiet_NaN();
    throw std::runtime_error(std::to_string(context.batch));
  });
  const TrainConfig config{.num_workers = workers, .batches_per_step = batches};
  const auto params = test::random_params<float>(3);
  const std::int64_t steps = 40 / batches;
  const Cause reference =
      cause_of([&] { train_synchronous(config, params, optim::sgd(0.1), small_loader(), compute, steps); });
  Trainer trainer(config, params, optim::sgd(0.1), small_loader(), compute, {.executors = executors});
  RC_ASSERT(cause_of([&] { trainer.run(steps); }) == reference);
}

TEST(Failure, ALossThatIsNotFiniteEndsTraining) {
  const auto params = test::random_params<float>(3);
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity()}) {
    const auto compute =
        spoiled_loss([bad](const StepContext& context, double loss) { return context.batch == 5 ? bad : loss; });
    Trainer trainer({.num_workers = 2}, params, optim::sgd(0.1), small_loader(), compute, {.executors = 2});
    const Cause cause = cause_of([&] { trainer.run(10); });
    EXPECT_EQ(cause.step, 2);
    EXPECT_EQ(cause.worker, 1);
    EXPECT_EQ(cause.batch, 5);
    EXPECT_NE(cause.text.find("expected a finite number"), std::string::npos) << cause.text;
    EXPECT_EQ(trainer.result().steps, 2);
  }
}

TEST(Failure, SomethingThatIsNoStandardExceptionIsReportedToo) {
  const auto compute = spoiled_loss([](const StepContext&, double) -> double { throw 42; });
  Trainer trainer({.num_workers = 2}, test::random_params<float>(3), optim::sgd(0.1), small_loader(), compute);
  EXPECT_NE(cause_of([&] { trainer.run(1); }).text.find("not a std::exception"), std::string::npos);
}

TEST(Failure, ASourceThatThrowsIsTheWorkersFailure) {
  class Broken : public data::SampleSource {
   public:
    std::int64_t size() const override { return 10; }
    data::SampleSpec spec() const override { return {{1}, Dtype::kFloat32, {}, Dtype::kFloat32}; }
    void gather(std::span<const std::int64_t>, const data::Batch&) const override {
      throw std::runtime_error("no disk");
    }
  };
  const data::DataLoader loader(data::Dataset(std::make_shared<Broken>()), {.batch_size = 2});
  Trainer trainer({.num_workers = 2}, test::random_params<float>(1), optim::sgd(0.1), loader,
                  test::squared_error<float>);
  EXPECT_EQ(cause_of([&] { trainer.run(1); }), (Cause{0, 0, 0, "no disk"}));
}

// One worker omits a gradient: an error at once, naming worker and parameter, on the reference and on threads.
TEST(Failure, AGradientThatOnlySomeGaveIsAnErrorThatNamesIt) {
  const auto compute = [](const StepContext& context, const data::Batch& batch, std::span<const Param> params,
                          GradSink& sink) {
    const auto result = test::squared_error_simple<float>(batch, params);
    for (const GradPair& pair : result.grads) {
      if (context.worker != 1 || pair.name != "w") sink.set(pair.name, pair.grad);
    }
    return result.loss;
  };
  const TrainConfig config{.num_workers = 3};
  const auto params = test::random_params<float>(3);
  const auto message_of = [](const auto& run) {
    try {
      run();
    } catch (const DimensionError& error) {
      EXPECT_EQ(error.name, "w");
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const auto reference =
      message_of([&] { train_synchronous(config, params, optim::sgd(0.1), small_loader(), compute, 1); });
  EXPECT_NE(reference.find("worker 1: no gradient for 'w'"), std::string::npos) << reference;
  for (std::int64_t executors = 1; executors <= 3; ++executors) {
    Trainer trainer(config, params, optim::sgd(0.1), small_loader(), compute, {.executors = executors});
    EXPECT_EQ(message_of([&] { trainer.run(1); }), reference);
    EXPECT_TRUE(test::same_bits(trainer.params(), params));
  }
}

TEST(Failure, AGradientOfAnUnknownNameOrShapeIsTheWorkersFailure) {
  const auto unknown = [](const data::Batch&, std::span<const Param>) {
    return LossAndGrads{0, {{"q", Tensor::zeros({1})}}};
  };
  const auto shape = [](const data::Batch&, std::span<const Param>) {
    return LossAndGrads{0, {{"w", Tensor::zeros({7})}}};
  };
  const auto text = [](const ComputeGrads& compute) {
    Trainer trainer({.num_workers = 2}, test::random_params<float>(3), optim::sgd(0.1), small_loader(), compute);
    return cause_of([&] { trainer.run(1); }).text;
  };
  EXPECT_NE(text(unknown).find("'q'"), std::string::npos);
  EXPECT_NE(text(shape).find("expected shape [3], got [7]"), std::string::npos) << text(shape);
}

// The hanging worker is named, with step, batch and seconds; so are those who arrived. Then the Trainer refuses.
TEST(Failure, AStepThatTakesTooLongNamesWhoIsLate) {
  auto release = std::make_shared<std::atomic<bool>>(false);
  auto left = std::make_shared<std::atomic<bool>>(false);
  const auto compute = spoiled_loss([release, left](const StepContext& context, double loss) {
    if (context.step == 4 && context.worker == 2) {
      while (!*release) std::this_thread::sleep_for(milliseconds(1));
      *left = true;
    }
    return loss;
  });
  {
    Trainer trainer({.num_workers = 4}, test::random_params<float>(3), optim::sgd(0.1), small_loader(), compute,
                    {.executors = 4, .step_timeout = milliseconds(200)});
    try {
      trainer.run(10);
      FAIL() << "no time-out";
    } catch (const WorkerTimeout& error) {
      EXPECT_EQ(error.worker, 2);
      EXPECT_EQ(error.batch, 18);
      EXPECT_GE(error.seconds, 0.2);
      const std::string text = error.what();
      EXPECT_NE(text.find("step 4"), std::string::npos) << text;
      EXPECT_NE(text.find("worker 2 in batch 18"), std::string::npos) << text;
    }
    EXPECT_THROW(trainer.run(1), Error);
  }
  // The thread that was left behind still runs in buffers that live as long as it does.
  *release = true;
  while (!*left) std::this_thread::sleep_for(milliseconds(1));
  std::this_thread::sleep_for(milliseconds(50));
}

TEST(Failure, SlowStepsWithinTheLimitAreNoTimeout) {
  const auto compute = spoiled_loss([](const StepContext&, double loss) {
    std::this_thread::sleep_for(milliseconds(40));
    return loss;
  });
  Trainer trainer({.num_workers = 2}, test::random_params<float>(3), optim::sgd(0.1), small_loader(), compute,
                  {.executors = 2, .step_timeout = milliseconds(1000)});
  // Longer than the limit together.
  EXPECT_EQ(trainer.run(30), 30);
}

TEST(Failure, ExecutorsAndLimitsOutsideTheirRangeAreRefused) {
  const auto make = [](const TrainerOptions& options) {
    Trainer trainer({.num_workers = 2}, test::random_params<float>(3), optim::sgd(0.1), small_loader(),
                    test::squared_error<float>, options);
  };
  EXPECT_THROW(make({.executors = -1}), ConfigError);
  EXPECT_THROW(make({.executors = 100000}), ConfigError);
  EXPECT_THROW(make({.step_timeout = milliseconds(0)}), ConfigError);
  EXPECT_NO_THROW(make({.executors = 3}));
}

}  // namespace
}  // namespace viva::distributed
