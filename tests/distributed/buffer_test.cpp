// Buffers: their rule under every aggregation, and that nothing of the optimizer's touches them.
#include <gtest/gtest.h>

#include "tests/distributed/regression.h"
#include "tests/distributed/ways.h"
#include "viva/io/digest.h"

namespace viva::distributed {
namespace {

class Buffer : public test::EveryWay {};
INSTANTIATE_TEST_SUITE_P(Ways, Buffer, test::every_way(), test::name_of_way);

constexpr double kRounding = 1e-12;

std::vector<Param> weight_and_buffer() {
  return {{"mean", Tensor::from_values<double>({10}), ParamRole::kBuffer}, {"w", Tensor::from_values<double>({1})}};
}

// The statistic of a batch is the mean of its targets; the gradient of "w" is one.
LossAndGrads mean_of_targets(const data::Batch& batch, std::span<const Param>) {
  double sum = 0;
  for (const double y : batch.targets.values<double>()) sum += y;
  return {1,
          {{"mean", Tensor::from_values<double>({sum / static_cast<double>(batch.size())})},
           {"w", Tensor::from_values<double>({1})}}};
}

// Batches of three and one samples, with statistics 2 and 6.
data::DataLoader four_samples() {
  return {data::Dataset::from_tensors(Tensor::zeros({4, 1}, Dtype::kFloat64),
                                      Tensor::from_values<double>({1, 2, 3, 6}, {4, 1})),
          {.batch_size = 3}};
}

TEST_P(Buffer, TakesAPartOfTheMeanStatistic) {
  const auto after = [&](GradAggregation aggregation, std::int64_t workers, double momentum) {
    const TrainConfig config{
        .num_workers = workers, .batches_per_step = 2, .aggregation = aggregation, .buffer_momentum = momentum};
    const auto result = train(config, weight_and_buffer(), optim::sgd(0.5), four_samples(), mean_of_targets, 1);
    EXPECT_EQ(result.final_params[0].role, ParamRole::kBuffer);
    return result.final_params[0].value.item();
  };
  // Workers without a batch and workers with two do not change the mean.
  for (const std::int64_t workers : {1, 2, 5}) {
    EXPECT_NEAR(after(GradAggregation::kWeightedAverage, workers, 0.1), 10 + 0.1 * (3 - 10), kRounding);
    EXPECT_NEAR(after(GradAggregation::kAverage, workers, 0.1), 10 + 0.1 * (4 - 10), kRounding);
    EXPECT_NEAR(after(GradAggregation::kSum, workers, 0.25), 10 + 0.25 * (4 - 10), kRounding);
  }
}

TEST_P(Buffer, NothingOfTheOptimizersTouchesIt) {
  TrainConfig config{.num_workers = 2};
  const auto plain = train(config, weight_and_buffer(), optim::sgd(0), four_samples(), mean_of_targets, 3);
  config.schedule = {optim::ScheduleKind::kLinear, {.total_steps = 1}};
  config.clipping = {.norm = 1e-3, .value = 1e-3};
  config.non_finite = NonFinite::kError;
  const auto decayed = train(config, weight_and_buffer(), optim::adamw(0.1, 10), four_samples(), mean_of_targets, 3);
  EXPECT_TRUE(bitwise_equal(plain.final_params[0].value, decayed.final_params[0].value));
  EXPECT_EQ(decayed.final_optimizer.state().count("mean"), 0U);
  EXPECT_EQ(decayed.final_optimizer.state().at("w").steps, 3);
}

TEST_P(Buffer, IsAPartOfTheDigest) {
  const auto digest_with = [&](double momentum) {
    const TrainConfig config{.num_workers = 2, .buffer_momentum = momentum};
    return io::digest(
        train(config, weight_and_buffer(), optim::sgd(0.5), four_samples(), mean_of_targets, 1).final_params);
  };
  EXPECT_NE(digest_with(0.1), digest_with(0.2));
}

TEST_P(Buffer, WithoutAStatisticItStays) {
  const ComputeGrads compute = [](const data::Batch&, std::span<const Param>) {
    return LossAndGrads{1, {{"w", Tensor::from_values<double>({1})}}};
  };
  const auto result = train({.num_workers = 2}, weight_and_buffer(), optim::sgd(0.5), four_samples(), compute, 2);
  EXPECT_EQ(result.final_params[0].value.item(), 10);
}

TEST_P(Buffer, AMomentumOutsideItsRangeIsRefused) {
  for (const double momentum : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    const TrainConfig config{.buffer_momentum = momentum};
    EXPECT_THROW(train(config, weight_and_buffer(), optim::sgd(0.5), four_samples(), mean_of_targets, 1), ConfigError);
  }
}

TEST(BufferInStep, TheFunctionalStepLeavesItAlone) {
  const auto params = weight_and_buffer();
  const Tensor one = Tensor::from_values<double>({1});
  const auto stepped = optim::step(optim::adamw(0.1), params, optim::zero_grad(params));
  EXPECT_TRUE(bitwise_equal(stepped.params[0].value, params[0].value));
  EXPECT_EQ(stepped.params[0].role, ParamRole::kBuffer);
  const auto refused = [&](const optim::Optimizer& optimizer, const std::vector<GradPair>& grads) {
    try {
      optim::step(optimizer, params, grads);
    } catch (const DimensionError& error) {
      return error.name;
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refused(optim::sgd(0.1), {{"mean", one}}), "mean");
  optim::Optimizer momentum = optim::sgd_momentum(0.1);
  momentum.set_state({{"mean", {{one}, 1}}});
  EXPECT_EQ(refused(momentum, {}), "mean");
  const optim::Optimizer grouped(optim::OptimizerKind::kSgd, {}, {{{"mean"}, {}, {}, true}});
  EXPECT_THROW(optim::step(grouped, params, {}), ConfigError);
}

}  // namespace
}  // namespace viva::distributed
