// Groups of parameters: patterns, the first match, frozen parameters, and which of them weight decay shrinks.
#include "viva/optim/param_group.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>

#include "viva/optim/optimizer.h"

namespace viva::optim {
namespace {

TEST(Pattern, StarsStandForAnyRun) {
  EXPECT_TRUE(matches("a.b", "a.b"));
  EXPECT_FALSE(matches("a.b", "a.bc"));
  EXPECT_FALSE(matches("a.b", "axb"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("*.bias", "layers.0.bias"));
  EXPECT_FALSE(matches("*.bias", "layers.0.bias2"));
  EXPECT_TRUE(matches("layers.*.weight", "layers.10.weight"));
  EXPECT_FALSE(matches("ab*ba", "aba"));
  EXPECT_FALSE(matches("a*b*b", "ab"));
  EXPECT_TRUE(matches("**a*", "a"));
  EXPECT_FALSE(matches("", "a"));
}

// By the definition: a star is nothing, or takes one character and stays.
bool matches_plainly(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] != '*') {
    return !name.empty() && pattern[0] == name[0] && matches_plainly(pattern.substr(1), name.substr(1));
  }
  return matches_plainly(pattern.substr(1), name) || (!name.empty() && matches_plainly(pattern, name.substr(1)));
}

RC_GTEST_PROP(PatternProperty, FollowsTheDefinition, ()) {
  auto pattern = *rc::gen::container<std::string>(rc::gen::element('a', 'b', '*')).as("pattern");
  auto name = *rc::gen::container<std::string>(rc::gen::element('a', 'b')).as("name");
  pattern.resize(std::min<std::size_t>(pattern.size(), 8));
  name.resize(std::min<std::size_t>(name.size(), 10));
  RC_ASSERT(matches(pattern, name) == matches_plainly(pattern, name));
}

std::vector<Param> layer_params() {
  return {{"fc.weight", Tensor::from_values<double>({1, 2, 3, 4}, {2, 2})},
          {"fc.bias", Tensor::from_values<double>({5, 6})},
          {"head.weight", Tensor::from_values<double>({7, 8}, {1, 2})}};
}

std::vector<GradPair> ones() {
  std::vector<GradPair> grads = zero_grad(layer_params());
  for (const GradPair& pair : grads) {
    for (double& x : pair.grad.mutable_values<double>()) x = 1;
  }
  return grads;
}

double first(const Param& param) { return param.value.values<double>()[0]; }

TEST(ParamGroup, TheFirstMatchDecides) {
  const Optimizer rule(OptimizerKind::kSgd, {.lr = 0.5},
                       {{{"fc.bias"}, 0.25, {}, false}, {{"fc.*"}, 0.125, {}, false}});
  const auto stepped = step(rule, layer_params(), ones());
  EXPECT_EQ(first(stepped.params[0]), 1 - 0.125);
  EXPECT_EQ(first(stepped.params[1]), 5 - 0.25);
  EXPECT_EQ(first(stepped.params[2]), 7 - 0.5);
}

TEST(ParamGroup, AFactorMultipliesEveryLearningRate) {
  const Optimizer rule(OptimizerKind::kSgd, {.lr = 0.5}, {{{"fc.*"}, 0.25, {}, false}});
  const auto stepped = step(rule, layer_params(), ones(), 0.5);
  EXPECT_EQ(first(stepped.params[0]), 1 - 0.125);
  EXPECT_EQ(first(stepped.params[2]), 7 - 0.25);
}

TEST(ParamGroup, AFrozenParameterHasNoUpdateAndKeepsItsState) {
  const auto warm = step(adam(0.1), layer_params(), ones());
  Optimizer rule(OptimizerKind::kAdam, {.lr = 0.1}, {{{"fc.*"}, {}, {}, true}});
  rule.set_state(warm.optimizer.state());
  const auto stepped = step(rule, warm.params, ones());
  for (const char* name : {"fc.weight", "fc.bias"}) {
    const ParamState &before = warm.optimizer.state().at(name), &after = stepped.optimizer.state().at(name);
    EXPECT_EQ(after.steps, 1);
    EXPECT_TRUE(bitwise_equal(after.moments[0], before.moments[0]));
    EXPECT_TRUE(bitwise_equal(after.moments[1], before.moments[1]));
  }
  EXPECT_TRUE(bitwise_equal(stepped.params[0].value, warm.params[0].value));
  EXPECT_TRUE(bitwise_equal(stepped.params[1].value, warm.params[1].value));
  EXPECT_FALSE(bitwise_equal(stepped.params[2].value, warm.params[2].value));
  EXPECT_EQ(stepped.optimizer.state().at("head.weight").steps, 2);
  EXPECT_TRUE(stepped.optimizer.groups()[0].frozen);
}

// With gradients of zero, AdamW's decay is all that happens: p - lr * wd * p.
TEST(ParamGroup, WeightDecayOfMatricesAndOfGroups) {
  const auto decay_of = [](DecayedParams decayed, std::vector<ParamGroup> groups) {
    const Optimizer rule(OptimizerKind::kAdamW, {.lr = 0.5, .weight_decay = 0.5, .decayed = decayed},
                         std::move(groups));
    const auto params = layer_params();
    const auto stepped = step(rule, params, zero_grad(params));
    std::vector<double> decays;
    for (std::size_t i = 0; i < params.size(); ++i) {
      decays.push_back(2 * (first(params[i]) - first(stepped.params[i])) / first(params[i]));
    }
    return decays;
  };
  EXPECT_EQ(decay_of(DecayedParams::kAll, {}), (std::vector{0.5, 0.5, 0.5}));
  EXPECT_EQ(decay_of(DecayedParams::kMatrices, {}), (std::vector{0.5, 0.0, 0.5}));
  EXPECT_EQ(decay_of(DecayedParams::kMatrices, {{{"fc.*"}, {}, 0.25, false}}), (std::vector{0.25, 0.25, 0.5}));
  EXPECT_EQ(decay_of(DecayedParams::kMatrices, {{{"fc.*"}, 0.5, {}, false}}), (std::vector{0.5, 0.0, 0.5}));
}

std::string refusal(OptimizerKind kind, const ParamGroup& group) {
  try {
    step(Optimizer(kind, {}, {{{"*"}, {}, {}, false}, group}), layer_params(), {});
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.key, "optimizer.groups");
    return error.what();
  }
  return "accepted";
}

TEST(ParamGroup, NonsenseIsRefusedByTheGroupsNumber) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(refusal(OptimizerKind::kSgd, {{"fc.*", "conv.*"}, {}, {}, false}),
            "optimizer.groups: group 2: no parameter matches 'conv.*'; the first one is 'fc.weight'");
  EXPECT_EQ(refusal(OptimizerKind::kSgd, {{}, {}, {}, false}),
            "optimizer.groups: group 2: expected the names of its parameters, got none");
  EXPECT_EQ(refusal(OptimizerKind::kSgd, {{"fc.*"}, kNan, {}, false}),
            "optimizer.groups: group 2: lr: expected a number >= 0, got nan");
  EXPECT_EQ(refusal(OptimizerKind::kSgd, {{"fc.*"}, {}, 0.1, false}),
            "optimizer.groups: group 2: weight_decay: sgd has none, only adamw");
  EXPECT_EQ(refusal(OptimizerKind::kAdamW, {{"fc.*"}, {}, -0.1, false}),
            "optimizer.groups: group 2: weight_decay: expected a number >= 0, got -0.1");
  EXPECT_EQ(refusal(OptimizerKind::kAdamW, {{"fc.*"}, 0.1, 0.1, true}), "accepted");
}

}  // namespace
}  // namespace viva::optim
