// Clipping by value and by norm: the convention, what takes part, and that executors do not matter.
#include "viva/optim/clipping.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include "tests/distributed/regression.h"
#include "tests/distributed/ways.h"
#include "viva/distributed/plain_gradient.h"

namespace viva::distributed {
namespace {

class ClippingInTraining : public test::EveryWay {};
INSTANTIATE_TEST_SUITE_P(Ways, ClippingInTraining, test::every_way(), test::name_of_way);

// One step of sgd(1) from zero: what comes out is minus the clipped gradient.
struct OneStep {
  std::vector<Param> params;
  ComputeGrads compute;
  data::DataLoader loader{test::random_dataset<double>(4, 1), {.batch_size = 1}};

  explicit OneStep(const std::vector<GradPair>& grads)
      : compute([grads](const data::Batch&, std::span<const Param>) {
          return LossAndGrads{1, grads};
        }) {
    for (const GradPair& pair : grads) params.push_back({pair.name, Tensor::zeros(pair.grad.shape(), Dtype::kFloat64)});
  }
};

TEST_P(ClippingInTraining, FollowsPyTorchsConvention) {
  const OneStep setup({{"a", Tensor::from_values<double>({3})}, {"b", Tensor::from_values<double>({0, 4})}});
  const auto clipped = [&](const optim::Clipping& clipping) {
    const auto result =
        train({.num_workers = 2, .clipping = clipping}, setup.params, optim::sgd(1), setup.loader, setup.compute, 1);
    const auto b = result.final_params[1].value.values<double>();
    return std::vector{-result.final_params[0].value.item(), -b[0], -b[1]};
  };
  EXPECT_EQ(clipped({.norm = 1}), (std::vector{3 * (1 / (5 + 1e-6)), 0.0, 4 * (1 / (5 + 1e-6))}));
  EXPECT_EQ(clipped({.norm = 5.1}), (std::vector{3.0, 0.0, 4.0}));
  EXPECT_EQ(clipped({.value = 3.5}), (std::vector{3.0, 0.0, 3.5}));
  // Values first: the norm of (3, 3).
  const double factor = 1 / (std::sqrt(18.0) + 1e-6);
  EXPECT_EQ(clipped({.norm = 1, .value = 3}), (std::vector{3 * factor, 0.0, 3 * factor}));
}

TEST_P(ClippingInTraining, FrozenParametersAndBuffersAreOutsideTheNorm) {
  OneStep setup({{"a", Tensor::from_values<double>({3})},
                 {"frozen", Tensor::from_values<double>({1e9})},
                 {"statistic", Tensor::from_values<double>({1e9})}});
  setup.params[2].role = ParamRole::kBuffer;
  const optim::Optimizer rule(optim::OptimizerKind::kSgd, {.lr = 1}, {{{"frozen"}, {}, {}, true}});
  const auto result =
      train({.num_workers = 3, .clipping = {.norm = 1}}, setup.params, rule, setup.loader, setup.compute, 1);
  EXPECT_NEAR(result.final_params[0].value.item(), -3 / (3 + 1e-6), 1e-15);
  EXPECT_EQ(result.final_params[1].value.item(), 0);
  EXPECT_NEAR(result.final_params[2].value.item(), 1e8, 1e-6);
}

TEST_P(ClippingInTraining, SettingsOutsideTheirRangeAreRefused) {
  const OneStep setup({{"a", Tensor::from_values<double>({3})}});
  const auto key_of = [&](const optim::Clipping& clipping) {
    try {
      train({.clipping = clipping}, setup.params, optim::sgd(1), setup.loader, setup.compute, 1);
    } catch (const ConfigError& error) {
      return error.key;
    }
    return std::string("accepted");
  };
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), HUGE_VAL}) {
    EXPECT_EQ(key_of({.norm = bad}), "train.clip_norm");
    EXPECT_EQ(key_of({.value = bad}), "train.clip_value");
  }
}

// A factor of a power of two apart, the norm can be read from what a step does; and 1 to 8 executors do the same.
RC_GTEST_PROP(ClippingProperty, TheNormIsThePlainOneForAnyExecutors, ()) {
  std::vector<GradPair> grads;
  double squares = 0;
  for (const std::int64_t size :
       *rc::gen::container<std::vector<std::int64_t>>(3, rc::gen::inRange<std::int64_t>(0, 12'000))) {
    grads.push_back({std::to_string(grads.size()), test::random_tensor<double>(grads.size() + 20, {size})});
    for (const double x : grads.back().grad.values<double>()) squares += x * x;
  }
  const OneStep setup(grads);
  const double norm = gradient_norm(optim::Layout(setup.params), grads);
  RC_ASSERT(std::abs(norm - std::sqrt(squares)) <= 1e-12 * norm);
  const TrainConfig config{.num_workers = 1, .clipping = {.norm = 0.5}};
  const auto reference = train_synchronous(config, setup.params, optim::sgd(1), setup.loader, setup.compute, 1);
  for (std::int64_t executors = 1; executors <= 8; ++executors) {
    Trainer trainer(config, setup.params, optim::sgd(1), setup.loader, setup.compute, {.executors = executors});
    trainer.run(1);
    RC_ASSERT(test::same_bits(trainer.result(), reference));
  }
}

TEST(ClipFactor, OfANormThatIsNotFinite) {
  EXPECT_EQ(optim::clip_factor(1, HUGE_VAL), 0);
  EXPECT_TRUE(std::isnan(optim::clip_factor(1, std::numeric_limits<double>::quiet_NaN())));
}

}  // namespace
}  // namespace viva::distributed
