// Recipe: everything that decides a training run, read from one TOML file. docs/file_formats.md lists the keys.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/recipe_training.h"
#include "viva/distributed/aggregation.h"
#include "viva/optim/optimizer.h"

namespace viva::cli {

inline constexpr std::int64_t kMaxSteps = 1'000'000'000'000;

// Paths are as the recipe gives them, with its directory in front where they are relative.
struct DataRecipe {
  std::string train_images, train_labels;
  // Both or none.
  std::optional<std::string> test_images, test_labels;
};

struct ModelRecipe {
  std::vector<std::int64_t> hidden;
  // Without it: the largest training label plus one.
  std::optional<std::int64_t> classes;
};

struct TrainRecipe {
  std::int64_t workers = 4;
  std::int64_t batch_size = 64;
  std::int64_t batches_per_step = 4;  // without the key: as many as workers
  distributed::GradAggregation aggregation = distributed::GradAggregation::kWeightedAverage;
  // Exactly one is given.
  std::optional<std::int64_t> epochs, steps;
  std::uint64_t seed = 0;
  bool shuffle = true;
  bool drop_last = false;
  optim::Clipping clipping;
  distributed::NonFinite non_finite = distributed::NonFinite::kIgnore;
};

struct Recipe {
  DataRecipe data;
  ModelRecipe model;
  optim::Optimizer optimizer;
  TrainRecipe train;
  ScheduleRecipe schedule;
};

// `file` names the text in errors, and its directory is where relative paths begin. Each override is
// "section.key=value", in the place of what the file says; its value is TOML, or a bare word that stands for a string.
// ConfigError with file, line and key (no file where an override is at fault) for everything that is no recipe.
Recipe parse_recipe(std::string_view text, const std::string& file, std::span<const std::string> overrides = {});

// IoError where there is no such file, or one too large for a recipe.
Recipe load_recipe(const std::string& path, std::span<const std::string> overrides = {});

}  // namespace viva::cli
