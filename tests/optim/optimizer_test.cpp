// The update rules against a plain double computation and against PyTorch; what the functional step refuses.
#include "viva/optim/optimizer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cfenv>
#include <cmath>
#include <limits>

#include "tests/optim/fixtures/optimizer_fixture.h"
#include "viva/optim/flat_state.h"
#include "viva/tensor/kernel_scope.h"
#include "viva/tensor/random.h"

namespace viva::optim {
namespace {

const std::vector<Optimizer>& all_rules() {
  static const std::vector<Optimizer> rules{sgd(0.1), sgd_momentum(0.1, 0.9), rmsprop(0.01), adam(0.01),
                                            adamw(0.01, 0.1)};
  return rules;
}

// One element's parameter and moments under a rule, written from the formulas of docs/algorithms.md.
struct Plain {
  double p, m = 0, v = 0;
  int t = 0;

  void step(const Optimizer& rule, double g) {
    const Hyperparameters& s = rule.settings();
    ++t;
    switch (rule.kind()) {
      case OptimizerKind::kSgd:
        p -= s.lr * g;
        return;
      case OptimizerKind::kSgdMomentum:
        v = s.momentum * v + g;
        p -= s.lr * v;
        return;
      case OptimizerKind::kRmsprop:
        v = s.alpha * v + (1 - s.alpha) * g * g;
        p -= s.lr * g / (std::sqrt(v) + s.eps);
        return;
      case OptimizerKind::kAdamW:
        p -= s.lr * s.weight_decay * p;
        [[fallthrough]];
      case OptimizerKind::kAdam: {
        m = s.beta1 * m + (1 - s.beta1) * g;
        v = s.beta2 * v + (1 - s.beta2) * g * g;
        const double m_hat = m / (1 - std::pow(s.beta1, t)), v_hat = v / (1 - std::pow(s.beta2, t));
        p -= s.lr * m_hat / (std::sqrt(v_hat) + s.eps);
        return;
      }
    }
  }
};

template <typename T>
void expect_formulas(double relative) {
  constexpr std::int64_t kSize = 37;
  const RandomStream random(1, RandomPurpose::kInitialize, 0);
  std::uint64_t draw = 0;
  const auto next = [&] { return static_cast<T>(4 * random.uniform(draw++) - 2); };
  for (const Optimizer& rule : all_rules()) {
    std::vector<T> start(kSize);
    for (T& x : start) x = next();
    std::vector<Plain> plain;
    for (const T x : start) plain.push_back({static_cast<double>(x)});
    StepResult state{{{"w", Tensor::from_values(start)}}, rule};
    for (int step_number = 0; step_number < 20; ++step_number) {
      std::vector<T> gradient(kSize);
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        gradient[i] = next();
        plain[i].step(rule, static_cast<double>(gradient[i]));
      }
      const std::vector<GradPair> grads{{"w", Tensor::from_values(gradient)}};
      state = step(state.optimizer, state.params, grads);
    }
    for (std::size_t i = 0; i < plain.size(); ++i) {
      const auto got = static_cast<double>(state.params[0].value.values<T>()[i]);
      EXPECT_NEAR(got, plain[i].p, relative * std::max(1.0, std::abs(plain[i].p))) << name_of(rule.kind());
    }
    EXPECT_EQ(state.optimizer.state().at("w").steps, 20);
  }
}

TEST(Optimizer, TwentyStepsFollowTheFormulasInFloat64) { expect_formulas<double>(1e-12); }

TEST(Optimizer, TwentyStepsFollowTheFormulasInFloat32) { expect_formulas<float>(2e-5); }

TEST(Optimizer, TwentyStepsAgreeWithPyTorch) {
  ASSERT_EQ(all_rules().size(), fixture::kExpected.size());
  for (std::size_t r = 0; r < fixture::kExpected.size(); ++r) {
    ASSERT_EQ(name_of(all_rules()[r].kind()), fixture::kExpected[r].rule);
    std::vector<double> start(fixture::kSize);
    for (std::size_t i = 0; i < start.size(); ++i) start[i] = static_cast<double>(i + 1) / 4;
    StepResult state{{{"w", Tensor::from_values(start)}}, all_rules()[r]};
    for (int t = 0; t < fixture::kSteps; ++t) {
      std::vector<double> gradient(fixture::kSize);
      for (std::size_t i = 0; i < gradient.size(); ++i)
        gradient[i] = std::sin(1 + 3 * t + 0.7 * static_cast<double>(i));
      const std::vector<GradPair> grads{{"w", Tensor::from_values(gradient)}};
      state = step(state.optimizer, state.params, grads);
    }
    for (std::size_t i = 0; i < start.size(); ++i) {
      EXPECT_NEAR(state.params[0].value.values<double>()[i], fixture::kExpected[r].params[i], 1e-6)
          << fixture::kExpected[r].rule;
    }
  }
}

std::vector<Param> two_params() {
  return {{"w", Tensor::from_values<double>({1, 2, 3})}, {"b", Tensor::from_values<double>({4})}};
}

TEST(Step, IsPureAndKeepsTheOrder) {
  const auto params = two_params();
  const std::vector<GradPair> grads{{"b", Tensor::from_values<double>({1})},
                                    {"w", Tensor::from_values<double>({1, 1, 1})}};
  const Optimizer rule = adam(0.1);
  const auto stepped = step(rule, params, grads);
  EXPECT_TRUE(bitwise_equal(params[0].value, two_params()[0].value));
  EXPECT_TRUE(rule.state().empty());
  ASSERT_EQ(stepped.params.size(), 2U);
  EXPECT_EQ(stepped.params[0].name, "w");
  EXPECT_EQ(stepped.params[1].name, "b");
  EXPECT_FALSE(bitwise_equal(stepped.params[0].value, params[0].value));
  // A second step from the first one's result does not touch that result either.
  const Tensor moment = stepped.optimizer.state().at("w").moments[0].clone();
  step(stepped.optimizer, stepped.params, grads);
  EXPECT_TRUE(bitwise_equal(stepped.optimizer.state().at("w").moments[0], moment));
}

TEST(Step, AParameterWithoutAGradientIsLeftAsItIs) {
  const auto params = two_params();
  const std::vector<GradPair> grads{{"b", Tensor::from_values<double>({1})}};
  for (const Optimizer& rule : all_rules()) {
    const auto once = step(rule, params, grads);
    const auto twice = step(once.optimizer, once.params, grads);
    EXPECT_TRUE(bitwise_equal(twice.params[0].value, params[0].value));
    EXPECT_EQ(twice.optimizer.state().count("w"), 0U);
    EXPECT_EQ(twice.optimizer.state().at("b").steps, 2);
  }
}

TEST(Step, WhatDoesNotFitIsNamedAndChangesNothing) {
  const auto params = two_params();
  const Tensor one = Tensor::from_values<double>({1});
  const auto refused = [&](const std::vector<GradPair>& grads) { step(sgd(1), params, grads); };
  try {
    refused({{"w", Tensor::from_values<double>({1, 1, 1})}, {"nope", one}});
    FAIL();
  } catch (const DimensionError& error) {
    EXPECT_EQ(error.name, "nope");
  }
  try {
    refused({{"w", one}});
    FAIL();
  } catch (const ShapeMismatch& error) {
    EXPECT_EQ(error.expected, Shape{3});
    EXPECT_EQ(error.got, Shape{1});
  }
  EXPECT_THROW(refused({{"b", one.to(Dtype::kFloat32)}}), DtypeError);
  EXPECT_THROW(refused({{"b", one}, {"b", one}}), DimensionError);
  EXPECT_TRUE(bitwise_equal(params[0].value, two_params()[0].value));
  EXPECT_TRUE(bitwise_equal(params[1].value, two_params()[1].value));
}

TEST(Step, StateThatDoesNotFitIsRefused) {
  const auto params = two_params();
  const auto with_state = [](const std::string& name, ParamState state) {
    Optimizer rule = sgd_momentum(0.1);
    rule.set_state({{name, std::move(state)}});
    return rule;
  };
  const Tensor three = Tensor::from_values<double>({0, 0, 0});
  EXPECT_NO_THROW(step(with_state("w", {{three}, 1}), params, {}));
  EXPECT_THROW(step(with_state("q", {{three}, 1}), params, {}), DimensionError);
  EXPECT_THROW(step(with_state("w", {{}, 1}), params, {}), DimensionError);
  EXPECT_THROW(step(with_state("w", {{three}, -1}), params, {}), DimensionError);
  EXPECT_THROW(step(with_state("b", {{three}, 1}), params, {}), ShapeMismatch);
  EXPECT_THROW(step(with_state("w", {{three.to(Dtype::kFloat32)}, 1}), params, {}), DtypeError);
}

TEST(Step, NothingToUpdateNeedsNoSpecialCase) {
  EXPECT_TRUE(step(adam(0.1), {}, {}).params.empty());
  const std::vector<Param> empty{{"e", Tensor::zeros({0, 2})}};
  EXPECT_EQ(step(adam(0.1), empty, zero_grad(empty)).params[0].value.shape(), (Shape{0, 2}));
}

TEST(Step, DoesNotDependOnTheHostsRoundingMode) {
  const auto params = two_params();
  const std::vector<GradPair> grads{{"w", Tensor::from_values<double>({0.1, 0.2, 0.3})}};
  const auto expected = step(adamw(0.1), params, grads);
  std::fesetround(FE_UPWARD);
  const auto got = step(adamw(0.1), params, grads);
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
  EXPECT_TRUE(bitwise_equal(got.params[0].value, expected.params[0].value));
}

TEST(ZeroGrad, ZerosOfEveryShapeAndDtype) {
  const auto grads = zero_grad(two_params());
  ASSERT_EQ(grads.size(), 2U);
  EXPECT_EQ(grads[0].name, "w");
  EXPECT_TRUE(bitwise_equal(grads[0].grad, Tensor::zeros({3}, Dtype::kFloat64)));
}

TEST(Hyperparameters, OutsideTheirRangeAreRefusedByKey) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  const auto key_of = [](const Hyperparameters& settings) {
    try {
      Optimizer(OptimizerKind::kAdamW, settings);
    } catch (const ConfigError& error) {
      return error.key;
    }
    return std::string("accepted");
  };
  EXPECT_EQ(key_of({.lr = kNan}), "optimizer.lr");
  EXPECT_EQ(key_of({.lr = -0.1}), "optimizer.lr");
  EXPECT_EQ(key_of({.lr = kInf}), "optimizer.lr");
  EXPECT_EQ(key_of({.momentum = 1}), "optimizer.momentum");
  EXPECT_EQ(key_of({.alpha = -1}), "optimizer.alpha");
  EXPECT_EQ(key_of({.beta1 = 1}), "optimizer.beta1");
  EXPECT_EQ(key_of({.beta2 = kNan}), "optimizer.beta2");
  EXPECT_EQ(key_of({.eps = 0}), "optimizer.eps");
  EXPECT_EQ(key_of({.eps = 1e-40}), "optimizer.eps");
  EXPECT_EQ(key_of({.weight_decay = -1}), "optimizer.weight_decay");
  EXPECT_EQ(key_of({.lr = 0}), "accepted");
}

// An element's arithmetic does not depend on where a range ends.
template <typename T>
void expect_split_changes_nothing() {
  const auto size = *rc::gen::inRange<std::int64_t>(1, 30000);
  const auto parts = *rc::gen::inRange<std::int64_t>(1, 12);
  const auto rule = *rc::gen::elementOf(all_rules());
  const auto weight = *rc::gen::inRange(1, 70);
  const RandomStream random(7, RandomPurpose::kInitialize, 0);
  std::vector<T> values(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(random.uniform(i) - 0.5);
  const std::vector<Param> params{{"w", Tensor::from_values(values)}};
  const KernelScope scope;
  const FlatState whole(rule, params), split(rule, params);
  const Layout& layout = whole.layout();
  const Tensor left = layout.make_buffer(), right = layout.make_buffer();
  std::copy(values.begin(), values.end(), left.mutable_values<T>().begin());
  std::copy(values.rbegin(), values.rend(), right.mutable_values<T>().begin());
  const auto gradient = [&](std::int64_t begin) {
    return GradientSum<T>{{left.values<T>().data() + begin, static_cast<T>(weight)},
                          {right.values<T>().data() + begin, T{3}},
                          static_cast<T>(1.0 / 67)};
  };
  for (int repeat = 0; repeat < 2; ++repeat) {
    whole.update<T>(whole.next_factors<T>(0), {0, layout.size()}, gradient(0));
    for (std::int64_t p = 0; p < parts; ++p) {
      const Range range = layout.part(p, parts);
      split.update<T>(split.next_factors<T>(0), range, gradient(range.begin));
    }
  }
  RC_ASSERT(bitwise_equal(whole.params()[0].value, split.params()[0].value));
}

RC_GTEST_PROP(UpdateRange, SplittingARangeChangesNoBitInFloat32, ()) { expect_split_changes_nothing<float>(); }
RC_GTEST_PROP(UpdateRange, SplittingARangeChangesNoBitInFloat64, ()) { expect_split_changes_nothing<double>(); }

}  // namespace
}  // namespace viva::optim
