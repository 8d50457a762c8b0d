#include "cli/recipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <utility>

#include "cli/recipe_table.h"
#include "viva/base/error.h"
#include "viva/base/input_file.h"

namespace viva::cli {
namespace {

using distributed::GradAggregation;
using optim::OptimizerKind;

// No recipe comes near this size. The parser needs stack for every level of a text's nesting, about 300 bytes, and a
// dotted key makes a level of two bytes.
constexpr std::uint64_t kMaxRecipeSize = 16 << 10;
constexpr IntegerRange kCount{1, 1'000'000'000};
constexpr IntegerRange kWidth{1, 1'000'000};
constexpr IntegerRange kWorkers{1, 65'536};
constexpr IntegerRange kBatchesPerStep{1, 1'000'000};
constexpr IntegerRange kSteps{0, kMaxSteps};
constexpr IntegerRange kSeed{0, std::numeric_limits<std::int64_t>::max()};
constexpr std::size_t kMaxLayers = 100;

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
      {"data", {"train_images", "train_labels", "test_images", "test_labels"}},
      {"model", {"kind", "hidden", "classes"}},
      {"optimizer", {"kind", "lr", "momentum", "alpha", "beta1", "beta2", "eps", "weight_decay", "decay", "groups"}},
      {"train",
       {"workers", "batch_size", "batches_per_step", "aggregation", "epochs", "steps", "seed", "shuffle", "drop_last",
        "clip_norm", "clip_value", "non_finite"}},
      schedule_keys()};
  return kKeys;
}

template <typename T>
T required(const RecipeTable& table, std::string_view key, std::optional<T> value, std::string_view what) {
  if (!value) table.fail(key, fmt::format("missing; expected {}", what));
  return *std::move(value);
}

// The value whose name stands at `key`.
template <typename Enum, std::size_t N>
std::optional<Enum> choice(const RecipeTable& table, std::string_view key, const std::array<Enum, N>& values) {
  const std::optional<std::string> name = table.string(key);
  if (!name) return std::nullopt;
  for (const Enum value : values) {
    if (name_of(value) == *name) return value;
  }
  std::array<std::string_view, N> names;
  std::transform(values.begin(), values.end(), names.begin(), [](Enum value) { return name_of(value); });
  table.fail(key, fmt::format("expected one of {}, found \"{}\"", fmt::join(names, ", "), *name));
}

std::optional<std::string> path_at(const RecipeTable& table, std::string_view key, const std::string& file) {
  const std::optional<std::string> path = table.string(key);
  if (!path) return std::nullopt;
  if (path->empty() || path->find('\0') != std::string::npos) table.fail(key, "expected a path");
  return (std::filesystem::path(file).parent_path() / *path).string();
}

DataRecipe read_data(const RecipeTable& table, const std::string& file) {
  constexpr std::string_view kImages = "the path of an IDX file with the training images";
  constexpr std::string_view kLabels = "the path of an IDX file with the training labels";
  DataRecipe data;
  data.train_images = required(table, "data.train_images", path_at(table, "data.train_images", file), kImages);
  data.train_labels = required(table, "data.train_labels", path_at(table, "data.train_labels", file), kLabels);
  data.test_images = path_at(table, "data.test_images", file);
  data.test_labels = path_at(table, "data.test_labels", file);
  if (data.test_images && !data.test_labels) table.fail("data.test_images", "given without data.test_labels");
  if (data.test_labels && !data.test_images) table.fail("data.test_labels", "given without data.test_images");
  return data;
}

ModelRecipe read_model(const RecipeTable& table) {
  const auto kind = required(table, "model.kind", table.string("model.kind"), "\"mlp\"");
  if (kind != "mlp") table.fail("model.kind", fmt::format("expected \"mlp\", found \"{}\"", kind));
  ModelRecipe model;
  model.hidden = required(table, "model.hidden", table.integers("model.hidden", kWidth),
                          "the widths of the hidden layers, such as [256, 128]");
  if (model.hidden.size() > kMaxLayers) {
    table.fail("model.hidden", fmt::format("expected at most {} layers, found {}", kMaxLayers, model.hidden.size()));
  }
  model.classes = table.integer("model.classes", kWidth);
  return model;
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
  if (!train.epochs && !train.steps) {
    table.fail("train.epochs", "missing; expected train.epochs or train.steps, which end the training");
  }
  return train;
}

}  // namespace

Recipe parse_recipe(std::string_view text, const std::string& file, std::span<const std::string> overrides) {
  if (text.size() > kMaxRecipeSize) {
    throw ConfigError(file, 0, {},
                      fmt::format("expected a recipe of at most {} bytes, found {}", kMaxRecipeSize, text.size()));
  }
  const RecipeTable table(text, file, overrides, known_keys());
  return {read_data(table, file), read_model(table), read_optimizer(table), read_train(table), read_schedule(table)};
}

Recipe load_recipe(const std::string& path, std::span<const std::string> overrides) {
  return parse_recipe(read_text_file(path, kMaxRecipeSize), path, overrides);
}

}  // namespace viva::cli
