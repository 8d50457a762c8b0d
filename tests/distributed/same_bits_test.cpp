// The promise: the Trainer gives the reference's bits, whatever the executors.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sched.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "tests/distributed/regression.h"
#include "viva/base/cpu.h"
#include "viva/distributed/trainer.h"

namespace viva::distributed {
namespace {

// Any rule, with any of the groups that test::random_params has names for.
optim::Optimizer optimizer_of(int kind, int groups) {
  const std::vector<optim::ParamGroup> some[] = {
      {}, {{{"w"}, 0.02, {}, false}}, {{{"b"}, {}, {}, true}}, {{{"*"}, {}, {}, true}}};
  optim::Hyperparameters settings{.lr = kind < 2 ? 0.05 : 0.01, .weight_decay = 0.1};
  if (groups == 4) settings.decayed = optim::DecayedParams::kMatrices;
  return {static_cast<optim::OptimizerKind>(kind), settings, some[groups % 4]};
}

optim::Schedule any_schedule() {
  return {static_cast<optim::ScheduleKind>(*rc::gen::inRange(0, 4).as("schedule")),
          {.warmup_steps = *rc::gen::inRange<std::int64_t>(0, 3).as("warm-up"), .total_steps = 5, .period = 2}};
}

// What can be wrong with a batch, without an exception.
enum class Trouble { kNone, kNanGradient, kInfiniteGradient, kHugeGradient, kNanStatistic, kInfiniteLoss };

struct Case {
  TrainConfig config;
  data::DataLoaderOptions loader;
  std::int64_t samples = 0, features = 0, steps = 0, executors = 0;
  int optimizer = 0, groups = 0;
  // By the batch's number, over and over; only where the guard skips such steps: a NaN in a parameter may have any
  // bits.
  std::vector<Trouble> troubles;
};

template <typename T>
ComputeGrads troubled(const Case& c) {
  return [troubles = c.troubles](const StepContext& context, const data::Batch& batch, std::span<const Param> params,
                                 GradSink& sink) {
    const double loss = test::tracked_error<T>(context, batch, params, sink);
    const auto spoil = [&](std::size_t i, T value) {
      const auto values = sink.grad(i).template mutable_values<T>();
      values[static_cast<std::size_t>(context.batch) * 5099 % values.size()] = value;
    };
    if (troubles.empty()) return loss;
    using Limits = std::numeric_limits<T>;
    switch (troubles[static_cast<std::size_t>(context.batch) % troubles.size()]) {
      case Trouble::kNone:
        break;
      case Trouble::kNanGradient:
        spoil(0, Limits::quiet_NaN());
        break;
      case Trouble::kInfiniteGradient:
        spoil(1, -Limits::infinity());
        break;
      case Trouble::kHugeGradient:
        spoil(0, Limits::max() / 2);
        break;
      case Trouble::kNanStatistic:
        spoil(2, Limits::quiet_NaN());
        break;
      case Trouble::kInfiniteLoss:
        return std::numeric_limits<double>::infinity();
    }
    return loss;
  };
}

optim::Clipping any_clipping() {
  optim::Clipping clipping;
  if (*rc::gen::arbitrary<bool>().as("clip norm")) clipping.norm = 0.125;
  if (*rc::gen::arbitrary<bool>().as("clip value")) clipping.value = 0.25;
  return clipping;
}

Case any_case() {
  Case c;
  c.config.num_workers = *rc::gen::inRange<std::int64_t>(1, 18).as("workers");
  c.config.batches_per_step = *rc::gen::inRange<std::int64_t>(1, 40).as("batches per step");
  c.config.aggregation = static_cast<GradAggregation>(*rc::gen::inRange(0, 3).as("aggregation"));
  c.config.epochs = *rc::gen::element<std::int64_t>(0, 1, 3).as("epochs");
  c.loader.batch_size = *rc::gen::inRange<std::int64_t>(1, 8).as("batch size");
  c.loader.shuffle = *rc::gen::arbitrary<bool>().as("shuffle");
  c.loader.drop_last = *rc::gen::arbitrary<bool>().as("drop last");
  c.loader.seed = *rc::gen::arbitrary<std::uint64_t>().as("seed");
  c.samples = *rc::gen::inRange<std::int64_t>(1, 60).as("samples");
  // Some parameters reach over several chunks of 4,096 elements.
  c.features = *rc::gen::element<std::int64_t>(1, 3, 17, 4079, 4100, 13000).as("features");
  c.steps = *rc::gen::inRange<std::int64_t>(0, 8).as("steps");
  c.executors = *rc::gen::inRange<std::int64_t>(1, 9).as("executors");
  c.optimizer = *rc::gen::inRange(0, 5).as("optimizer");
  c.groups = *rc::gen::inRange(0, 5).as("groups");
  c.config.schedule = any_schedule();
  if (*rc::gen::arbitrary<bool>().as("one pass")) return c;
  c.config.clipping = any_clipping();
  c.config.non_finite = static_cast<NonFinite>(*rc::gen::inRange(0, 3).as("non-finite"));
  if (c.config.non_finite == NonFinite::kSkip) {
    for (const int t : *rc::gen::container<std::vector<int>>(rc::gen::inRange(-20, 6)).as("troubles")) {
      c.troubles.push_back(static_cast<Trouble>(std::max(t, 0)));
    }
  }
  return c;
}

template <typename T>
void expect_reference_bits(const Case& c) {
  const auto params = test::params_with_buffer<T>(c.features);
  const data::DataLoader loader(test::random_dataset<T>(c.samples, c.features), c.loader);
  const ComputeGrads compute = troubled<T>(c);
  const auto optimizer = optimizer_of(c.optimizer, c.groups);
  const auto reference = train_synchronous(c.config, params, optimizer, loader, compute, c.steps);
  Trainer trainer(c.config, params, optimizer, loader, compute, {.executors = c.executors});
  // In two runs: where one ends and the next begins changes nothing.
  trainer.run(c.steps / 2);
  trainer.run(c.steps - c.steps / 2);
  const auto result = trainer.result();
  RC_ASSERT(result.steps == reference.steps);
  RC_ASSERT(result.samples == reference.samples);
  RC_ASSERT(result.skipped == reference.skipped);
  RC_ASSERT(result.total_loss == reference.total_loss);
  RC_ASSERT(test::same_bits(result, reference));
}

RC_GTEST_PROP(SameBits, TrainerIsTheReferenceInFloat32, ()) { expect_reference_bits<float>(any_case()); }

RC_GTEST_PROP(SameBits, TrainerIsTheReferenceInFloat64, ()) { expect_reference_bits<double>(any_case()); }

// 64 threads on one processor: slow at worst, never stuck, and the same bits.
TEST(SameBits, ManyMoreExecutorsThanProcessors) {
  cpu_set_t before, first;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&first);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&first) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &first);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof first, &first), 0);
  Case c;
  c.config.num_workers = 70;
  c.samples = 300;
  c.features = 5000;
  c.steps = 10;
  c.executors = 64;
  c.loader.shuffle = true;
  expect_reference_bits<float>(c);
  c.config.num_workers = 4;
  expect_reference_bits<float>(c);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

// A host that is given no number takes the processors that it may use, and no more than there are workers.
TEST(SameBits, TheDefaultIsOneExecutorAProcessor) {
  const data::DataLoader loader(test::random_dataset<float>(8, 2), {.batch_size = 1});
  const auto executors_for = [&](std::int64_t workers) {
    return Trainer({.num_workers = workers}, test::random_params<float>(2), optim::sgd(0.1), loader,
                   test::squared_error<float>)
        .executors();
  };
  EXPECT_EQ(executors_for(1), 1);
  EXPECT_EQ(executors_for(1000), available_cpus());
}

// Who asks for more executors than there are processors gets them, and one warning.
TEST(SameBits, MoreExecutorsThanProcessorsAreWarnedOfOnce) {
  const data::DataLoader loader(test::random_dataset<float>(8, 2), {.batch_size = 1});
  std::vector<std::string> warnings;
  TrainerOptions options;
  options.executors = available_cpus() + 1;
  options.log = [&](LogLevel level, std::string_view message) {
    if (level == LogLevel::kWarning) warnings.emplace_back(message);
  };
  Trainer trainer({.num_workers = 4}, test::random_params<float>(2), optim::sgd(0.1), loader,
                  test::squared_error<float>, options);
  trainer.run(5);
  EXPECT_EQ(trainer.executors(), available_cpus() + 1);
  EXPECT_EQ(warnings.size(), 1U);
}

// An optimizer that has been used goes on from its state.
TEST(SameBits, TheOptimizersStateIsTakenOver) {
  const auto params = test::random_params<float>(10);
  const data::DataLoader loader(test::random_dataset<float>(30, 10), {.batch_size = 2});
  const TrainConfig config{.num_workers = 3};
  const auto first = train_synchronous(config, params, optim::adam(0.01), loader, test::squared_error<float>, 4);
  const auto second =
      train_synchronous(config, first.final_params, first.final_optimizer, loader, test::squared_error<float>, 4);
  Trainer trainer(config, first.final_params, first.final_optimizer, loader, test::squared_error<float>,
                  {.executors = 2});
  trainer.run(4);
  EXPECT_TRUE(test::same_bits(trainer.result(), second));
  EXPECT_EQ(second.final_optimizer.state().at("w").steps, 8);
}

// Several Trainers in one program do not disturb each other.
TEST(SameBits, TwoTrainersSideBySide) {
  const auto params = test::random_params<float>(1000);
  const data::DataLoader loader(test::random_dataset<float>(64, 1000), {.batch_size = 2, .shuffle = true});
  const TrainConfig config{.num_workers = 4};
  const auto reference = train_synchronous(config, params, optim::sgd(0.01), loader, test::squared_error<float>, 20);
  std::vector<TrainResult> results(2, reference);
  std::vector<std::thread> hosts;
  for (TrainResult& result : results) {
    hosts.emplace_back([&] {
      Trainer trainer(config, params, optim::sgd(0.01), loader, test::squared_error<float>, {.executors = 2});
      trainer.run(20);
      result = trainer.result();
    });
  }
  for (std::thread& host : hosts) host.join();
  for (const TrainResult& result : results) EXPECT_TRUE(test::same_bits(result, reference));
}

}  // namespace
}  // namespace viva::distributed
