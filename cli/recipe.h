// Recipe: everything that decides a training run, read from one TOML file. docs/file_formats.md lists the keys.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/recipe_training.h"
#include "viva/distributed/aggregation.h"
#include "viva/distributed/gradient_guard.h"
#include "viva/optim/clipping.h"
#include "viva/optim/optimizer.h"
#include "viva/tensor/conv2d.h"
#include "viva/tensor/precision.h"

namespace viva::cli {

inline constexpr std::int64_t kMaxSteps = 1'000'000'000'000;

// Paths are as the recipe gives them, with its directory in front where they are relative.

// IDX files, plain or gzip, or NPY files.
struct ImageFiles {
  std::string images, labels;
};

struct ImageData {
  ImageFiles train;
  std::optional<ImageFiles> validation, test;
  // A stored pixel p becomes (p·scale - mean) / deviation.
  double scale = 1.0 / 255, mean = 0, deviation = 1;
  // Training images: mirrored at random; cut at random out of the image with a border of so many zeros.
  bool flip = false;
  std::int64_t crop_padding = 0;
};

struct CsvData {
  std::string train;
  std::optional<std::string> validation, test;
  std::string target_column;  // empty: the last one
};

struct TextData {
  std::vector<std::string> train, validation;  // no validation files: none, or a share
};

struct DataRecipe {
  std::variant<ImageData, CsvData, TextData> source;
  // This share of the training samples is kept for validation.
  std::optional<double> validation_fraction;
};

struct MlpRecipe {
  std::vector<std::int64_t> hidden;
};

struct CnnRecipe {
  Conv2dAlgorithm convolution = Conv2dAlgorithm::kWinograd;
};

struct GptRecipe {
  std::int64_t context = 64, layers = 4, heads = 4, channels = 128;
  double dropout = 0;
};

struct ModelRecipe {
  std::variant<MlpRecipe, CnnRecipe, GptRecipe> kind;
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
  Precision precision = Precision::kF32;
  // Steps between two looks at the validation data; without it: an epoch.
  std::optional<std::int64_t> evaluate_every;
  // Training ends after so many looks without a better validation loss.
  std::optional<std::int64_t> patience;
  // The result is the parameters with the best validation loss, not the last ones.
  bool keep_best = false;
  optim::Clipping clipping;
  distributed::NonFinite non_finite = distributed::NonFinite::kIgnore;
  OnException on_exception = OnException::kFail;
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
