#include "cli/recipe.h"

#include <gmock/gmock.h>

#include <string>
#include <variant>
#include <vector>

#include "viva/base/error.h"

namespace viva::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kData = "[data]\ntrain_images = \"a.idx\"\ntrain_labels = \"/b.idx\"\n";  // lines 1 to 3
constexpr const char* kModel = "[model]\nkind = \"mlp\"\nhidden = [3]\n";                       // lines 4 to 6
constexpr const char* kOptimizer = "[optimizer]\nkind = \"sgd\"\nlr = 0.5\n";                   // lines 7 to 9
constexpr const char* kTrain = "[train]\nepochs = 2\n";                                         // lines 10 and 11
const std::string kWhole = std::string(kData) + kModel + kOptimizer + kTrain;

Recipe parse(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return parse_recipe(text, "dir/r.toml", overrides);
}

const ImageData& images_of(const Recipe& recipe) { return std::get<ImageData>(recipe.data.source); }

std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    parse(text, overrides);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Recipe, HasDefaultsForWhatIsNotSaid) {
  const Recipe recipe = parse(kWhole);
  EXPECT_EQ(images_of(recipe).train.images, "dir/a.idx");
  EXPECT_EQ(images_of(recipe).train.labels, "/b.idx");
  EXPECT_FALSE(images_of(recipe).test);
  EXPECT_THAT(std::get<MlpRecipe>(recipe.model.kind).hidden, ElementsAre(3));
  EXPECT_FALSE(recipe.model.classes);
  EXPECT_EQ(recipe.optimizer.kind(), optim::OptimizerKind::kSgd);
  EXPECT_EQ(recipe.optimizer.settings().lr, 0.5);
  EXPECT_EQ(recipe.train.workers, 4);
  EXPECT_EQ(recipe.train.batch_size, 64);
  EXPECT_EQ(recipe.train.batches_per_step, 4);
  EXPECT_EQ(recipe.train.aggregation, distributed::GradAggregation::kWeightedAverage);
  EXPECT_EQ(recipe.train.epochs, 2);
  EXPECT_FALSE(recipe.train.steps);
  EXPECT_EQ(recipe.train.seed, 0);
  EXPECT_TRUE(recipe.train.shuffle);
  EXPECT_FALSE(recipe.train.drop_last);
}

TEST(Recipe, ReadsEveryKey) {
  const Recipe recipe = parse(
      "[data]\ntrain_images='a'\ntrain_labels='b'\ntest_images='c'\ntest_labels='d'\n"
      "[model]\nkind='mlp'\nhidden=[]\nclasses=7\n"
      "[optimizer]\nkind='adamw'\nlr=1\nbeta1=0.5\nbeta2=0.25\neps=0.125\nweight_decay=2\n"
      "[train]\nworkers=3\nbatch_size=5\nbatches_per_step=6\naggregation='sum'\nsteps=8\nseed=9\nshuffle=false\n"
      "drop_last=true\n");
  EXPECT_EQ(images_of(recipe).test->images, "dir/c");
  EXPECT_EQ(images_of(recipe).test->labels, "dir/d");
  EXPECT_TRUE(std::get<MlpRecipe>(recipe.model.kind).hidden.empty());
  EXPECT_EQ(recipe.model.classes, 7);
  const optim::Hyperparameters& settings = recipe.optimizer.settings();
  EXPECT_THAT((std::vector{settings.lr, settings.beta1, settings.beta2, settings.eps, settings.weight_decay}),
              ElementsAre(1, 0.5, 0.25, 0.125, 2));
  EXPECT_EQ(recipe.train.workers, 3);
  EXPECT_EQ(recipe.train.batch_size, 5);
  EXPECT_EQ(recipe.train.batches_per_step, 6);
  EXPECT_EQ(recipe.train.aggregation, distributed::GradAggregation::kSum);
  EXPECT_EQ(recipe.train.steps, 8);
  EXPECT_EQ(recipe.train.seed, 9);
  EXPECT_FALSE(recipe.train.shuffle);
  EXPECT_TRUE(recipe.train.drop_last);
}

TEST(Recipe, WithoutBatchesPerStepEveryWorkerHasOne) {
  EXPECT_EQ(parse(kWhole, {"train.workers=7"}).train.batches_per_step, 7);
}

TEST(Recipe, EveryErrorNamesItsPlace) {
  struct Case {
    const char* lines;  // at the end of a whole recipe, from line 12 on, in [train]
    const char* message;
  };
  const std::vector<Case> cases = {
      {"wokers = 3", "dir/r.toml:12: train.wokers: unknown key; did you mean train.workers?"},
      {"lr = 3", "dir/r.toml:12: train.lr: unknown key; did you mean optimizer.lr?"},
      {"something_else = 3", "dir/r.toml:12: train.something_else: unknown key; [train] has workers, batch_size, "},
      {"[optimiser]", "dir/r.toml:12: optimiser: unknown section; did you mean [optimizer]?"},
      {"[\"a.b\"]", "dir/r.toml:12: a.b: unknown section; a recipe has [data], [model], [optimizer], [train]"},
      {"workers = 0", "dir/r.toml:12: train.workers: expected a whole number from 1 to 65536, found 0"},
      {"workers = \"many\"", "dir/r.toml:12: train.workers: expected a whole number, found the string \"many\""},
      {"workers = 2.0", "dir/r.toml:12: train.workers: expected a whole number, found the number 2"},
      {"batch_size = -64", "dir/r.toml:12: train.batch_size: expected a whole number from 1 to 1000000000, found -64"},
      {"shuffle = 1", "dir/r.toml:12: train.shuffle: expected true or false, found the whole number 1"},
      {"aggregation = \"mean\"", "dir/r.toml:12: train.aggregation: expected one of sum, average, weighted_average, "},
      {"aggregation = []", "dir/r.toml:12: train.aggregation: expected a string, found an array"},
      {"steps = 3", "dir/r.toml:12: train.steps: given beside train.epochs"},
      {"workers = ", "dir/r.toml:12: this is no valid TOML: "},
      {"epochs = 3", "dir/r.toml:12: this is no valid TOML: "},
      {"workers = 99999999999999999999", "dir/r.toml:12: this is no valid TOML: "},
  };
  for (const Case& wrong : cases) EXPECT_THAT(error_of(kWhole + wrong.lines), StartsWith(wrong.message));
}

TEST(Recipe, WhatIsRequiredIsNamed) {
  const auto without = [](const std::string& line) {
    std::string text = kWhole;
    return text.erase(text.find(line), line.size());
  };
  EXPECT_THAT(error_of(""), StartsWith("dir/r.toml: data.train_images: missing; expected the path"));
  EXPECT_THAT(error_of(without("train_labels = \"/b.idx\"\n")), StartsWith("dir/r.toml:1: data.train_labels: missing"));
  EXPECT_THAT(error_of(without("hidden = [3]\n")), StartsWith("dir/r.toml:4: model.hidden: missing; expected the wid"));
  EXPECT_THAT(error_of(without("kind = \"sgd\"\n")), StartsWith("dir/r.toml:7: optimizer.kind: missing; expected sgd"));
  EXPECT_THAT(error_of(without("lr = 0.5\n")), StartsWith("dir/r.toml:7: optimizer.lr: missing"));
  EXPECT_THAT(error_of(without("epochs = 2\n")), StartsWith("dir/r.toml:10: train.epochs: missing; expected train."));
}

TEST(Recipe, TheOptimizersSettingsAreItsOwn) {
  EXPECT_THAT(error_of(kWhole, {"optimizer.lr=nan"}), StartsWith("optimizer.lr: expected a number >= 0, got nan"));
  EXPECT_THAT(error_of(kWhole, {"optimizer.momentum=0.9"}),
              StartsWith("optimizer.momentum: sgd has no such setting, only sgd_momentum"));
  EXPECT_THAT(error_of(kWhole, {"optimizer.kind=rmsprop", "optimizer.beta1=0.9"}),
              StartsWith("optimizer.beta1: rmsprop has no such setting, only adam, adamw"));
  std::string text = kWhole;
  text.replace(text.find("0.5"), 3, "-inf");
  EXPECT_THAT(error_of(text), StartsWith("dir/r.toml:9: optimizer.lr: expected a number >= 0, got -inf"));
}

TEST(Recipe, TestDataComesInPairs) {
  EXPECT_THAT(error_of(kWhole, {"data.test_images=x"}), HasSubstr("test_images: given without data.test_labels"));
  EXPECT_THAT(error_of(kWhole, {"data.test_labels=x"}), HasSubstr("test_labels: given without data.test_images"));
  EXPECT_THAT(error_of(kWhole, {"data.train_images=''"}), HasSubstr("data.train_images: expected a path"));
}

TEST(Recipe, AnOverrideTakesTheFilesPlace) {
  EXPECT_EQ(parse(kWhole, {"train.workers=2", "train.workers=8"}).train.workers, 8);
  EXPECT_THAT(std::get<MlpRecipe>(parse(kWhole, {"model.hidden=[5, 6]"}).model.kind).hidden, ElementsAre(5, 6));
  EXPECT_EQ(parse(kWhole, {"optimizer.kind=adam"}).optimizer.kind(), optim::OptimizerKind::kAdam);
  EXPECT_EQ(parse(kWhole, {"optimizer.kind='adam'"}).optimizer.kind(), optim::OptimizerKind::kAdam);
  EXPECT_EQ(images_of(parse(kWhole, {"data.train_images=/x y=z.gz"})).train.images, "/x y=z.gz");
  EXPECT_EQ(images_of(parse(kWhole, {"data.train_images=../x.gz"})).train.images, "dir/../x.gz");
}

TEST(Recipe, AnOverrideMayMakeASection) {
  EXPECT_EQ(parse(std::string(kData) + kModel + kOptimizer, {"train.steps=3"}).train.steps, 3);
}

TEST(Recipe, AnOverrideOfTheEndReplacesTheOtherKind) {
  const Recipe recipe = parse(kWhole, {"train.steps=3"});
  EXPECT_EQ(recipe.train.steps, 3);
  EXPECT_FALSE(recipe.train.epochs);
  EXPECT_THAT(error_of(kWhole, {"train.steps=3", "train.epochs=4"}), HasSubstr("given beside train.epochs"));
}

TEST(Recipe, AWrongOverrideIsQuoted) {
  EXPECT_EQ(error_of(kWhole, {"train.workers=0"}),
            "train.workers: expected a whole number from 1 to 65536, found 0 (from --set train.workers=0)");
  for (const char* shape : {"train.workers", "workers=1", "train.a.b=1", "=1", "train.=1", ".workers=1", "a b.c=1"}) {
    EXPECT_THAT(error_of(kWhole, {shape}), HasSubstr("expected section.key=value")) << shape;
  }
  for (const char* value : {"train.workers=", "train.workers=[1", "train.workers=1x", "train.aggregation=su\"m"}) {
    EXPECT_THAT(error_of(kWhole, {value}), HasSubstr("the value is no valid TOML")) << value;
  }
  EXPECT_THAT(error_of(kWhole, {"train.workers=1\nx=2"}), HasSubstr("expected a single value"));
  EXPECT_THAT(error_of(kWhole, {"trian.workers=1"}), HasSubstr("did you mean [train]?"));
  EXPECT_THAT(error_of("train = 1", {"train.workers=1"}), HasSubstr("expected a table [train], found the whole"));
}

TEST(Recipe, DeepAndLargeTextsAreRefusedOrSurvived) {
  std::string deep = "x";
  while (deep.size() < 16'000) deep += ".x";
  EXPECT_THAT(error_of(deep + " = 1"), HasSubstr("x: "));
  EXPECT_THAT(error_of("x = " + std::string(16'000, '[')), HasSubstr("no valid TOML"));
  EXPECT_THAT(error_of(std::string(17'000, '\n')), HasSubstr("at most 16384 bytes, found 17000"));
  EXPECT_THAT(error_of(kWhole, {"train.workers=" + std::string(5000, '1')}), HasSubstr("--set: expected at most 4096"));
}

}  // namespace
}  // namespace viva::cli
