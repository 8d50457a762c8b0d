// Recipes' schedules, groups, clipping and guard: what they become, and errors that name their place.
#include "cli/recipe_training.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/recipe.h"
#include "tests/cli/tiny_problem.h"
#include "viva/base/error.h"

namespace viva::cli {
namespace {

using distributed::NonFinite;
using optim::ScheduleKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// Lines 1 to 11.
const std::string kStart =
    "[data]\ntrain_images = \"a.idx\"\ntrain_labels = \"b.idx\"\n"
    "[model]\nkind = \"mlp\"\nhidden = [3]\n"
    "[train]\nepochs = 2\n"
    "[optimizer]\nkind = \"adamw\"\nlr = 0.5\n";

Recipe parse_training(const std::string& lines, const std::vector<std::string>& overrides = {}) {
  return parse_recipe(kStart + lines, "r.toml", overrides);
}

std::string training_error_of(const std::string& lines, const std::vector<std::string>& overrides = {}) {
  try {
    parse_training(lines, overrides);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(RecipeTraining, WithoutTheKeysNothingIsScheduledClippedOrGuarded) {
  const Recipe recipe = parse_training("");
  EXPECT_EQ(recipe.schedule.for_run(10).factor(9), 1);
  EXPECT_FALSE(recipe.train.clipping.any());
  EXPECT_EQ(recipe.train.non_finite, NonFinite::kIgnore);
  EXPECT_TRUE(recipe.optimizer.groups().empty());
  EXPECT_EQ(recipe.optimizer.settings().decayed, optim::DecayedParams::kAll);
}

TEST(RecipeTraining, ReadsEveryKey) {
  const Recipe recipe = parse_training(
      "decay = \"matrices\"\n"
      "groups = [{params = [\"*.bias\", \"head.*\"], lr = 1, weight_decay = 0.25}, {params = [\"w\"], frozen = true}]\n"
      "[schedule]\nkind = \"linear\"\nwarmup_steps = 2\ntotal_steps = 12\nfinal_factor = 0.5\n",
      {"train.clip_norm=2", "train.clip_value=0.5", "train.non_finite=skip"});
  EXPECT_EQ(recipe.optimizer.settings().decayed, optim::DecayedParams::kMatrices);
  const auto& groups = recipe.optimizer.groups();
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_THAT(groups[0].params, ElementsAre("*.bias", "head.*"));
  EXPECT_EQ(groups[0].lr, 1);
  EXPECT_EQ(groups[0].weight_decay, 0.25);
  EXPECT_FALSE(groups[0].frozen);
  EXPECT_TRUE(groups[1].frozen);
  EXPECT_FALSE(groups[1].lr);
  // Its own end, whatever the run's.
  EXPECT_EQ(recipe.schedule.for_run(1000).factor(7), 0.75);
  EXPECT_EQ(recipe.train.clipping.norm, 2);
  EXPECT_EQ(recipe.train.clipping.value, 0.5);
  EXPECT_EQ(recipe.train.non_finite, NonFinite::kSkip);
  const Recipe falling = parse_training("[schedule]\nkind = \"step\"\nperiod = 3\ngamma = 0.25\n");
  EXPECT_EQ(falling.schedule.for_run(10).factor(3), 0.25);
}

TEST(RecipeTraining, AScheduleEndsWithTheRunUnlessItSaysOtherwise) {
  const Recipe recipe = parse_training("[schedule]\nkind = \"linear\"\nwarmup_steps = 4\n");
  EXPECT_EQ(recipe.schedule.for_run(104).factor(54), 0.5);
  EXPECT_EQ(recipe.schedule.for_run(104).factor(104), 0);
  // A run that is cut short within its warm-up.
  EXPECT_EQ(recipe.schedule.for_run(2).factor(1), 0.5);
}

TEST(RecipeTraining, EveryErrorNamesItsPlace) {
  struct Case {
    const char* lines;  // from line 12 on, in [optimizer]
    const char* message;
  };
  const std::vector<Case> cases = {
      {"decay = \"matrixes\"",
       "r.toml:12: optimizer.decay: expected one of all, matrices, found \"matrixes\"; did you mean \"matrices\"?"},
      {"groups = 3", "r.toml:12: optimizer.groups: expected an array of tables"},
      {"groups = [\n3]", "r.toml:13: optimizer.groups: group 1: expected a table such as {params = "},
      {"groups = [{lr = 1}]", "r.toml:12: optimizer.groups: group 1: expected params = ["},
      {"groups = [{params = []}]", "r.toml:12: optimizer.groups: group 1: expected params = ["},
      {"groups = [{params = [1]}]", "r.toml:12: optimizer.groups: group 1: params: expected an array of strings"},
      {"groups = [{params = [\"a\"]},\n{params = [\"a\"], lr = true}]",
       "r.toml:13: optimizer.groups: group 2: lr: expected a number"},
      {"groups = [{params = [\"a\"], frozen = 1}]", "r.toml:12: optimizer.groups: group 1: frozen: expected true or"},
      {"groups = [{params = [\"a\"], frozn = true}]",
       "r.toml:12: optimizer.groups: group 1: unknown key frozn; did you mean frozen?"},
      {"groups = [{params = [\"a\"], lr = -1}]", "r.toml:12: optimizer.groups: group 1: lr: expected a number >= 0"},
      {"[schedule]", "r.toml:12: schedule.kind: missing; expected constant, step, linear or cosine"},
      {"[schedule]\nkind = \"cosin\"",
       "r.toml:13: schedule.kind: expected one of constant, step, linear, cosine, "
       "found \"cosin\"; did you mean \"cosine\"?"},
      {"[schedule]\nkind = \"step\"", "r.toml:12: schedule.period: expected a number >= 1, got 0"},
      {"[schedule]\nkind = \"step\"\nperiod = 1\ngamma = -1", "r.toml:15: schedule.gamma: expected a number > 0"},
      {"[schedule]\nkind = \"cosine\"\nperiod = 1",
       "r.toml:14: schedule.period: cosine has no such setting, only step"},
      {"[schedule]\nkind = \"step\"\nperiod = 1\ntotal_steps = 5",
       "r.toml:15: schedule.total_steps: step has no such setting, only linear, cosine"},
      {"[schedule]\nkind = \"linear\"\ntotal_steps = 5\nwarmup_steps = 5",
       "r.toml:14: schedule.total_steps: expected a number > warmup_steps (5), got 5"},
      {"[schedule]\nkind = \"linear\"\nwarmup_steps = -1", "r.toml:14: schedule.warmup_steps: expected a whole number"},
      {"[schedule]\nkind = \"linear\"\nfinal_factor = nan", "r.toml:14: schedule.final_factor: expected a number >= 0"},
      {"[schedule]\nwarmup_step = 3",
       "r.toml:13: schedule.warmup_step: unknown key; did you mean schedule.warmup_steps?"},
  };
  for (const Case& wrong : cases) EXPECT_THAT(training_error_of(wrong.lines), StartsWith(wrong.message)) << wrong.lines;
  EXPECT_THAT(training_error_of("", {"train.clip_norm=0"}),
              StartsWith("train.clip_norm: expected a number > 0, found 0"));
  EXPECT_THAT(training_error_of("", {"train.clip_value=inf"}),
              StartsWith("train.clip_value: expected a number > 0, found inf"));
  EXPECT_THAT(training_error_of("", {"train.non_finite=skipp"}), HasSubstr("did you mean \"skip\"?"));
  EXPECT_THAT(training_error_of("", {"train.precision=bf61"}), HasSubstr("did you mean \"bf16\"?"));
  if (!bf16_available()) {
    EXPECT_THAT(training_error_of("", {"train.precision=bf16"}),
                HasSubstr("this processor has no bfloat16 arithmetic"));
  }
  EXPECT_THAT(training_error_of("", {"optimizer.kind=sgd", "optimizer.decay=all"}),
              StartsWith("optimizer.decay: sgd has no such setting, only adamw"));
}

// The whole program: another digest with each of the keys, the same one from the reference and from threads.
TEST(RecipeTraining, TheProgramTrainsByThem) {
  const TinyProblem problem;
  const auto trained = [&](const std::string& settings) {
    const ProgramResult result = problem.run("train r.toml --quiet --json " + settings);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(result.out);
  };
  const std::string plain = trained("").at("digest");
  EXPECT_EQ(trained("").at("skipped"), 0);
  EXPECT_EQ(trained("--set train.non_finite=error").at("digest"), plain);
  for (const std::string setting :
       {"--set schedule.kind=cosine --set schedule.warmup_steps=2", "--set train.clip_norm=0.01",
        "--set train.clip_value=0.001", "--set 'optimizer.groups=[{params=[\"*.bias\"],frozen=true}]'"}) {
    const std::string digest = trained(setting).at("digest");
    EXPECT_NE(digest, plain) << setting;
    EXPECT_EQ(trained(setting + " --executor reference").at("digest"), digest) << setting;
  }
  // Every step overflows, and is skipped; so does the report say.
  const std::string hopeless = "--set optimizer.lr=1e30 --set train.non_finite=skip";
  const auto report = trained(hopeless);
  EXPECT_GT(report.at("skipped"), 0);
  EXPECT_THAT(problem.run("train r.toml --quiet " + hopeless).out,
              HasSubstr("skipped " + report.at("skipped").dump() + " of them"));
  const ProgramResult refused = problem.run("train r.toml --quiet --set 'optimizer.groups=[{params=[\"nope\"]}]'");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("optimizer.groups: group 1: no parameter matches 'nope'"));
}

}  // namespace
}  // namespace viva::cli
