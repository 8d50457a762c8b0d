// Generation: which token follows, and what decides it.
#include "viva/nn/generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "viva/base/error.h"
#include "viva/nn/gpt.h"

namespace viva::nn {
namespace {

// Every token is followed by the next one, for certain: the head reads the token's own embedding.
class Successor final : public Module {
 public:
  void declare(Declarations& declarations) override { declarations.parameter("unused", {1}, zeros()); }
  Variable forward(const Params& params, const Variable& x) const override {
    const auto tokens = x.value().values<std::int32_t>();
    const auto length = static_cast<std::int64_t>(tokens.size());
    const Tensor logits = Tensor::zeros({1, length, kTokens});
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t next = (tokens[static_cast<std::size_t>(i)] + 1) % kTokens;
      logits.mutable_values<float>()[static_cast<std::size_t>(i * kTokens + next)] = 100;
    }
    return params.constant(logits);
  }
  static constexpr std::int64_t kTokens = 5;
};

TEST(Generate, GoesOnFromThePrompt) {
  const Model model{Successor()};
  const auto params = model.initial_params(0);
  for (const double temperature : {0.0, 1.0}) {
    const std::vector<std::int32_t> prompt{0, 3};
    const auto tokens = generate(model, params, prompt, {.count = 6, .context = 2, .temperature = temperature});
    EXPECT_EQ(tokens, (std::vector<std::int32_t>{4, 0, 1, 2, 3, 4}));
  }
}

// The chances of a model without knowledge are even; a temperature and a limit shape them.
TEST(Generate, DrawsByTheModelsChances) {
  const Model model = gpt({.vocabulary = 4, .context = 3, .layers = 1, .heads = 1, .channels = 8});
  const auto params = model.initial_params(1);
  for (const Param& param : params) {
    if (param.name == "head.weight") std::ranges::fill(param.value.mutable_values<float>(), 0.0F);
  }
  const std::vector<std::int32_t> prompt{2};
  const auto all = generate(model, params, prompt, {.count = 4000, .context = 3, .seed = 7});
  for (std::int32_t token = 0; token < 4; ++token)
    EXPECT_NEAR(static_cast<double>(std::ranges::count(all, token)), 1000, 150);
  const auto few = generate(model, params, prompt, {.count = 200, .context = 3, .most_likely = 2});
  EXPECT_EQ(std::ranges::count_if(few, [](std::int32_t token) { return token > 1; }), 0);
}

TEST(Generate, IsAFunctionOfTheSeed) {
  const Model model = gpt({.vocabulary = 30, .context = 8, .layers = 1, .heads = 2, .channels = 8});
  const auto params = model.initial_params(1);
  const std::vector<std::int32_t> prompt{2};
  const auto text = [&](std::uint64_t seed) {
    return generate(model, params, prompt, {.count = 50, .context = 8, .seed = seed});
  };
  EXPECT_EQ(text(1), text(1));
  EXPECT_NE(text(1), text(2));
}

TEST(Generate, NamesWhatItCannotUse) {
  const Model model{Successor()};
  const auto params = model.initial_params(0);
  const std::vector<std::int32_t> prompt{0};
  EXPECT_THROW(generate(model, params, {}, {.count = 1}), DimensionError);
  for (const double temperature : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(generate(model, params, prompt, {.count = 1, .temperature = temperature}), ConfigError);
  }
}

}  // namespace
}  // namespace viva::nn
