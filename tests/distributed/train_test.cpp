// The contract of training, on the reference and on the Trainer alike.
#include "viva/distributed/train.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <tuple>

#include "tests/distributed/regression.h"
#include "tests/distributed/ways.h"

namespace viva::distributed {
namespace {

constexpr double kReferenceValue = 1e-9;

class Train : public test::EveryWay {};
INSTANTIATE_TEST_SUITE_P(Ways, Train, test::every_way(), test::name_of_way);

data::Dataset line_dataset() {
  return data::Dataset::from_tensors(Tensor::from_values<double>({1, 2, 3, 4}, {4, 1}),
                                     Tensor::from_values<double>({3, 5, 7, 9}));
}

std::vector<Param> zero_line() {
  return {{"w", Tensor::from_values<double>({0})}, {"b", Tensor::from_values<double>({0})}};
}

// y = 2x + 1.
TEST_P(Train, ALineIsLearned) {
  const data::DataLoader loader(line_dataset(), {.batch_size = 1});
  const TrainConfig config{.num_workers = 2, .batches_per_step = 4, .aggregation = GradAggregation::kAverage};
  double before = 1e300;
  for (std::int64_t steps = 1; steps <= 10; ++steps) {
    const auto result = train(config, zero_line(), optim::sgd(0.05), loader, test::squared_error<double>, steps);
    EXPECT_LT(result.last_loss, before);
    EXPECT_EQ(result.steps, steps);
    EXPECT_EQ(result.final_params[0].name, "w");
    EXPECT_EQ(result.final_params[1].name, "b");
    before = result.last_loss;
  }
}

TEST_P(Train, NoStepsReturnTheInput) {
  const data::DataLoader loader(line_dataset(), {.batch_size = 1});
  const auto params = test::random_params<double>(1);
  const auto result = train({.num_workers = 3}, params, optim::adam(0.1), loader, test::squared_error<double>, 0);
  EXPECT_EQ(result.steps, 0);
  EXPECT_EQ(result.total_loss, 0);
  EXPECT_TRUE(test::same_bits(result.final_params, params));
}

TEST_P(Train, AnEmptyLoaderMakesNoSteps) {
  const data::DataLoader loader(data::Dataset(), {.batch_size = 4});
  const auto result = train({.num_workers = 2}, zero_line(), optim::sgd(1), loader, test::squared_error<double>, 10);
  EXPECT_EQ(result.steps, 0);
  EXPECT_EQ(result.samples, 0);
}

// Micro-batches of 5 and 1 samples are one batch of 6; and the same over a grid of workers and batches. Only the
// rounding may differ.
TEST_P(Train, WeightedAverageIsTheFullBatchGradientHoweverItIsSplit) {
  constexpr std::int64_t kSamples = 30, kFeatures = 3;
  const auto dataset = test::random_dataset<double>(kSamples, kFeatures);
  const auto params = test::random_params<double>(kFeatures);
  const auto full = train({.num_workers = 1}, params, optim::sgd(0.1),
                          data::DataLoader(dataset, {.batch_size = kSamples}), test::squared_error<double>, 1);
  for (std::int64_t workers = 1; workers <= 5; ++workers) {
    for (std::int64_t batch_size = 1; batch_size <= 7; ++batch_size) {
      const data::DataLoader loader(dataset, {.batch_size = batch_size});
      const auto split = train({.num_workers = workers, .batches_per_step = loader.size()}, params, optim::sgd(0.1),
                               loader, test::squared_error<double>, 1);
      for (std::size_t p = 0; p < 2; ++p) {
        const auto a = full.final_params[p].value.values<double>(), b = split.final_params[p].value.values<double>();
        for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-12) << workers << " " << batch_size;
      }
      EXPECT_NEAR(full.total_loss, split.total_loss, 1e-12);
    }
  }
}

TEST_P(Train, MicroBatchesOfFiveAndOneAreOneBatchOfSix) {
  const auto dataset = test::random_dataset<double>(6, 3);
  const auto params = test::random_params<double>(3);
  const auto after = [&](std::int64_t batch_size, std::int64_t batches) {
    return train({.num_workers = 1, .batches_per_step = batches}, params, optim::sgd(0.1),
                 data::DataLoader(dataset, {.batch_size = batch_size}), test::squared_error<double>, 1);
  };
  const auto micro = after(5, 2), whole = after(6, 1);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(micro.final_params[0].value.values<double>()[i], whole.final_params[0].value.values<double>()[i],
                1e-14);
  }
}

// Losses 1 and 3 on equal batches log 2; on batches of 3 and 1 samples 1.5.
TEST_P(Train, TheLossIsTheMeanOverSamples) {
  const auto loss_is_first_input = [](const StepContext&, const data::Batch& batch, std::span<const Param> params,
                                      GradSink& sink) {
    for (std::size_t i = 0; i < params.size(); ++i) {
      for (double& g : sink.grad(i).mutable_values<double>()) g = 0;
    }
    return batch.inputs.values<double>()[0];
  };
  const auto losses = [&](std::int64_t batch_size, std::vector<double> inputs) {
    const auto n = static_cast<std::int64_t>(inputs.size());
    const auto dataset =
        data::Dataset::from_tensors(Tensor::from_values(inputs, {n, 1}), Tensor::zeros({n}, Dtype::kFloat64));
    return train({.num_workers = 2}, zero_line(), optim::sgd(1), data::DataLoader(dataset, {.batch_size = batch_size}),
                 loss_is_first_input, 1);
  };
  EXPECT_NEAR(losses(2, {1, 1, 3, 3}).last_loss, 2, kReferenceValue);
  EXPECT_NEAR(losses(3, {1, 1, 1, 3}).last_loss, 1.5, kReferenceValue);
  EXPECT_NEAR(losses(3, {1, 1, 1, 3}).total_loss, 1.5, kReferenceValue);
}

// N = 10, W = 4: every sample once an epoch, whatever is left over.
TEST_P(Train, EverySampleIsSeenOnceAnEpoch) {
  if (in_processes()) GTEST_SKIP() << "what a callback notes stays in its process";
  const auto dataset = data::Dataset::from_tensors(Tensor::from_values<double>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {10, 1}),
                                                   Tensor::zeros({10}, Dtype::kFloat64));
  for (const std::int64_t batch_size : {1, 3, 4, 10, 11}) {
    std::mutex mutex;
    std::multiset<double> seen;
    const auto record = [&](const StepContext& context, const data::Batch& batch, std::span<const Param> params,
                            GradSink& sink) {
      const std::lock_guard lock(mutex);
      for (const double x : batch.inputs.values<double>()) seen.insert(x);
      return test::squared_error<double>(context, batch, params, sink);
    };
    const auto result = train({.num_workers = 4, .epochs = 2}, zero_line(), optim::sgd(0),
                              data::DataLoader(dataset, {.batch_size = batch_size, .shuffle = true}), record, -1);
    EXPECT_EQ(result.samples, 20);
    for (int x = 0; x < 10; ++x) EXPECT_EQ(seen.count(x), 2U) << x << " in batches of " << batch_size;
  }
}

// More workers, and more executors, than there are samples.
TEST_P(Train, WorkersWithoutABatchWeighNothing) {
  const auto dataset = test::random_dataset<double>(3, 2);
  const auto params = test::random_params<double>(2);
  const data::DataLoader loader(dataset, {.batch_size = 1});
  const auto few =
      train({.num_workers = 3, .epochs = 1}, params, optim::sgd(0.1), loader, test::squared_error<double>, -1);
  const auto many =
      train({.num_workers = 7, .epochs = 1}, params, optim::sgd(0.1), loader, test::squared_error<double>, -1);
  EXPECT_EQ(many.steps, 1);
  EXPECT_EQ(many.samples, 3);
  for (std::size_t p = 0; p < 2; ++p) {
    for (std::size_t i = 0; i < few.final_params[p].value.values<double>().size(); ++i) {
      EXPECT_NEAR(few.final_params[p].value.values<double>()[i], many.final_params[p].value.values<double>()[i],
                  kReferenceValue);
    }
  }
}

// Average counts workers that had no batch.
TEST_P(Train, AverageCountsIdleWorkers) {
  const data::DataLoader loader(line_dataset(), {.batch_size = 1});
  const auto ones = [](const data::Batch&, std::span<const Param>) {
    return LossAndGrads{0, {{"w", Tensor::from_values<double>({1})}, {"b", Tensor::from_values<double>({1})}}};
  };
  const auto after = [&](GradAggregation aggregation) {
    return train({.num_workers = 4, .batches_per_step = 2, .aggregation = aggregation}, zero_line(), optim::sgd(1),
                 loader, ones, 1)
        .final_params[0]
        .value.item();
  };
  EXPECT_NEAR(after(GradAggregation::kAverage), -0.5, kReferenceValue);
  EXPECT_NEAR(after(GradAggregation::kSum), -2, kReferenceValue);
  EXPECT_NEAR(after(GradAggregation::kWeightedAverage), -1, kReferenceValue);
}

TEST_P(Train, BothFormsOfACallbackGiveTheSameBits) {
  const auto dataset = test::random_dataset<float>(20, 4);
  const auto params = test::random_params<float>(4);
  const data::DataLoader loader(dataset, {.batch_size = 3, .shuffle = true});
  const TrainConfig config{.num_workers = 3, .batches_per_step = 5};
  const auto full = train(config, params, optim::adam(0.01), loader, test::squared_error<float>, 9);
  const auto simple = train(config, params, optim::adam(0.01), loader, test::squared_error_simple<float>, 9);
  EXPECT_TRUE(test::same_bits(full, simple));
}

TEST_P(Train, AnotherSeedIsAnotherRun) {
  const auto dataset = test::random_dataset<float>(20, 4);
  const auto params = test::random_params<float>(4);
  const auto run = [&](std::uint64_t seed) {
    return train({.num_workers = 2}, params, optim::sgd(0.1),
                 data::DataLoader(dataset, {.batch_size = 3, .shuffle = true, .seed = seed}),
                 test::squared_error<float>, 9);
  };
  EXPECT_TRUE(test::same_bits(run(1), run(1)));
  EXPECT_FALSE(test::same_bits(run(1), run(2)));
}

// The context tells a callback where it stands, so that what it draws is keyed by that and never by who runs it.
TEST_P(Train, TheContextNamesStepWorkerAndBatch) {
  if (in_processes()) GTEST_SKIP() << "what a callback notes stays in its process";
  std::mutex mutex;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> seen;
  const auto record = [&](const StepContext& context, const data::Batch& batch, std::span<const Param> params,
                          GradSink& sink) {
    const std::lock_guard lock(mutex);
    seen.emplace(context.step, context.worker, context.batch);
    EXPECT_EQ(context.seed, 5U);
    EXPECT_EQ(context.mode, Mode::kTraining);
    return test::squared_error<double>(context, batch, params, sink);
  };
  const data::DataLoader loader(line_dataset(), {.batch_size = 1, .seed = 5});
  train({.num_workers = 2, .batches_per_step = 3}, zero_line(), optim::sgd(0.01), loader, record, 2);
  const std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> expected{{0, 0, 0}, {0, 1, 1}, {0, 0, 2},
                                                                                {1, 0, 3}, {1, 1, 4}, {1, 0, 5}};
  EXPECT_EQ(seen, expected);
}

TEST_P(Train, AParameterWithoutGradientsIsLeftAlone) {
  const auto dataset = test::random_dataset<float>(8, 4);
  auto params = test::random_params<float>(4);
  params.insert(params.begin() + 1, {"frozen", test::random_tensor<float>(3, {5000})});
  const auto compute = [](const StepContext& context, const data::Batch& batch, std::span<const Param> given,
                          GradSink& sink) {
    const std::vector<Param> regression{given[0], given[2]};
    const optim::Layout layout(regression);
    const Tensor buffer = layout.make_buffer();
    GradSink inner(layout, buffer);
    const double loss = test::squared_error<float>(context, batch, regression, inner);
    sink.set("w", layout.view(buffer, 0));
    sink.set("b", layout.view(buffer, 1));
    return loss;
  };
  const auto result =
      train({.num_workers = 3}, params, optim::adamw(0.1), data::DataLoader(dataset, {.batch_size = 1}), compute, 5);
  EXPECT_TRUE(bitwise_equal(result.final_params[1].value, params[1].value));
  EXPECT_FALSE(bitwise_equal(result.final_params[0].value, params[0].value));
  EXPECT_EQ(result.final_optimizer.state().count("frozen"), 0U);
}

// Empty tensors need nothing special of the caller.
TEST_P(Train, EmptyParametersAndNoParametersWork) {
  const auto dataset = test::random_dataset<double>(4, 2);
  const data::DataLoader loader(dataset, {.batch_size = 1});
  const auto empty_grads = [](const StepContext&, const data::Batch&, std::span<const Param> params, GradSink& sink) {
    for (std::size_t i = 0; i < params.size(); ++i) sink.grad(i);
    return 1.0;
  };
  const std::vector<Param> empty{{"e", Tensor::zeros({0, 3}, Dtype::kFloat64)}};
  EXPECT_EQ(train({.num_workers = 1}, empty, optim::adam(0.1), loader, empty_grads, 3).steps, 3);
  EXPECT_EQ(train({.num_workers = 2}, {}, optim::sgd(0.1), loader, empty_grads, 3).total_loss, 3);
}

TEST_P(Train, CountsOutsideTheirRangeAreRefused) {
  const data::DataLoader loader(line_dataset(), {.batch_size = 1});
  const auto expect_refused = [&](const TrainConfig& config, std::int64_t steps, const std::string& key) {
    try {
      train(config, zero_line(), optim::sgd(0.1), loader, test::squared_error<double>, steps);
      FAIL() << "no error for " << key;
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.key, key) << error.what();
    }
  };
  expect_refused({.num_workers = 0}, 1, "train.workers");
  expect_refused({.num_workers = -1}, 1, "train.workers");
  expect_refused({.num_workers = 1, .batches_per_step = -2}, 1, "train.batches_per_step");
  expect_refused({.num_workers = 1, .epochs = -1}, 1, "train.epochs");
  expect_refused({.num_workers = 1}, -1, "train.steps");
  expect_refused({.num_workers = 1, .epochs = 1}, -2, "train.steps");
}

TEST_P(Train, ParametersOfTwoDtypesAreRefused) {
  const data::DataLoader loader(line_dataset(), {.batch_size = 1});
  const std::vector<Param> mixed{{"w", Tensor::zeros({1}, Dtype::kFloat64)},
                                 {"b", Tensor::zeros({1}, Dtype::kFloat32)}};
  EXPECT_THROW(train({.num_workers = 1}, mixed, optim::sgd(0.1), loader, test::squared_error<double>, 1), DtypeError);
}

}  // namespace
}  // namespace viva::distributed
