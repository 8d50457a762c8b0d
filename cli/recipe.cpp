#include "cli/recipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

#include "cli/recipe_sections.h"
#include "viva/base/error.h"
#include "viva/base/input_file.h"

namespace viva::cli {
namespace {

using distributed::GradAggregation;
using optim::OptimizerKind;

// No recipe comes near this size. The parser needs stack for every level of a text's nesting, about 300 bytes, and a
// dotted key makes a level of two bytes.
constexpr std::uint64_t kMaxRecipeSize = 16 << 10;
constexpr IntegerRange kWorkers{1, 65'536};
constexpr IntegerRange kBatchesPerStep{1, 1'000'000};
constexpr IntegerRange kSteps{0, kMaxSteps};
constexpr IntegerRange kSeed{0, std::numeric_limits<std::int64_t>::max()};

constexpr std::array kOptimizers = {OptimizerKind::kSgd, OptimizerKind::kSgdMomentum, OptimizerKind::kRmsprop,
                                    OptimizerKind::kAdam, OptimizerKind::kAdamW};
constexpr std::array kAggregations = {GradAggregation::kSum, GradAggregation::kAverage,
                                      GradAggregation::kWeightedAverage};

// A setting that only some optimizers have.
struct OptimizerSetting {
  std::string_view key;
  double optim::Hyperparameters::*field;
  std::vector<OptimizerKind> kinds;
};

const std::vector<OptimizerSetting>& optimizer_settings() {
  using enum OptimizerKind;
  using optim::Hyperparameters;
  static const std::vector<OptimizerSetting> kSettings = {
      {"optimizer.momentum", &Hyperparameters::momentum, {kSgdMomentum}},
      {"optimizer.alpha", &Hyperparameters::alpha, {kRmsprop}},
      {"optimizer.beta1", &Hyperparameters::beta1, {kAdam, kAdamW}},
      {"optimizer.beta2", &Hyperparameters::beta2, {kAdam, kAdamW}},
      {"optimizer.eps", &Hyperparameters::eps, {kRmsprop, kAdam, kAdamW}},
      {"optimizer.weight_decay", &Hyperparameters::weight_decay, {kAdamW}}};
  return kSettings;
}

const std::vector<SectionKeys>& known_keys() {
  static const std::vector<SectionKeys> kKeys = {
      data_keys(),
      model_keys(),
      {"optimizer", {"kind", "lr", "momentum", "alpha", "beta1", "beta2", "eps", "weight_decay", "decay", "groups"}},
      {"train",
       {"workers", "batch_size", "batches_per_step", "aggregation", "epochs", "steps", "seed", "shuffle", "drop_last",
        "clip_norm", "clip_value", "non_finite", "precision", "on_exception", "evaluate_every", "patience",
        "keep_best"}},
      schedule_keys()};
  return kKeys;
}

optim::Optimizer read_optimizer(const RecipeTable& table) {
  const OptimizerKind kind = required(table, "optimizer.kind", choice(table, "optimizer.kind", kOptimizers),
                                      "sgd, sgd_momentum, rmsprop, adam or adamw");
  optim::Hyperparameters settings;
  settings.lr = required(table, "optimizer.lr", table.number("optimizer.lr"), "the learning rate");
  for (const OptimizerSetting& setting : optimizer_settings()) {
    const std::optional<double> value = table.number(setting.key);
    if (!value) continue;
    if (std::find(setting.kinds.begin(), setting.kinds.end(), kind) == setting.kinds.end()) {
      std::vector<std::string_view> names;
      for (const OptimizerKind taker : setting.kinds) names.push_back(name_of(taker));
      table.fail(setting.key, fmt::format("{} has no such setting, only {}", name_of(kind), fmt::join(names, ", ")));
    }
    settings.*setting.field = *value;
  }
  settings.decayed = read_decay(table, kind);
  std::vector<optim::ParamGroup> groups = read_groups(table);
  try {
    return {kind, settings, std::move(groups)};
  } catch (const ConfigError& error) {
    // The optimizer knows the ranges, this table the place.
    table.fail(error.key, std::string(error.what()).substr(error.key.size() + 2));
  }
}

TrainRecipe read_train(const RecipeTable& table) {
  TrainRecipe train;
  train.workers = table.integer("train.workers", kWorkers).value_or(train.workers);
  train.batch_size = table.integer("train.batch_size", kCount).value_or(train.batch_size);
  train.batches_per_step = table.integer("train.batches_per_step", kBatchesPerStep).value_or(train.workers);
  train.aggregation = choice(table, "train.aggregation", kAggregations).value_or(train.aggregation);
  train.epochs = table.integer("train.epochs", kCount);
  train.steps = table.integer("train.steps", kSteps);
  if (train.epochs && train.steps) {
    table.fail("train.steps", "given beside train.epochs; expected one of them, since either ends the training");
  }
  train.seed = static_cast<std::uint64_t>(table.integer("train.seed", kSeed).value_or(0));
  train.shuffle = table.boolean("train.shuffle").value_or(train.shuffle);
  train.drop_last = table.boolean("train.drop_last").value_or(train.drop_last);
  train.clipping = read_clipping(table);
  train.non_finite = read_non_finite(table);
  train.precision = read_precision(table);
  train.on_exception = read_on_exception(table);
  train.evaluate_every = table.integer("train.evaluate_every", kCount);
  train.patience = table.integer("train.patience", kCount);
  train.keep_best = table.boolean("train.keep_best").value_or(train.patience.has_value());
  if (!train.epochs && !train.steps) {
    table.fail("train.epochs", "missing; expected train.epochs or train.steps, which end the training");
  }
  return train;
}

// What looks at validation data needs some.
void check_validation(const RecipeTable& table, const Recipe& recipe) {
  const auto has_files = [](const auto& source) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(source)>, TextData>) {
      return !source.validation.empty();
    } else {
      return source.validation.has_value();
    }
  };
  if (recipe.data.validation_fraction || std::visit(has_files, recipe.data.source)) return;
  for (const std::string_view key : {"train.evaluate_every", "train.patience", "train.keep_best"}) {
    if (table.has(key)) table.fail(key, "needs validation data: data.validation_fraction, or files");
  }
}

}  // namespace

Recipe parse_recipe(std::string_view text, const std::string& file, std::span<const std::string> overrides) {
  if (text.size() > kMaxRecipeSize) {
    throw ConfigError(file, 0, {},
                      fmt::format("expected a recipe of at most {} bytes, found {}", kMaxRecipeSize, text.size()));
  }
  const RecipeTable table(text, file, overrides, known_keys());
  Recipe recipe{read_data(table, file), read_model(table), read_optimizer(table), read_train(table),
                read_schedule(table)};
  check_validation(table, recipe);
  return recipe;
}

Recipe load_recipe(const std::string& path, std::span<const std::string> overrides) {
  return parse_recipe(read_text_file(path, kMaxRecipeSize), path, overrides);
}

}  // namespace viva::cli
