// The sections of a recipe, each read by a file of its own, and what they share.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/recipe.h"
#include "cli/recipe_table.h"

namespace viva::cli {

inline constexpr IntegerRange kCount{1, 1'000'000'000};
inline constexpr IntegerRange kWidth{1, 1'000'000};

// The keys of a section.
SectionKeys data_keys();
SectionKeys model_keys();
SectionKeys schedule_keys();

// ConfigError with file, line and key for what cannot be used.
DataRecipe read_data(const RecipeTable& table, const std::string& file);
ModelRecipe read_model(const RecipeTable& table);
ScheduleRecipe read_schedule(const RecipeTable& table);
std::vector<optim::ParamGroup> read_groups(const RecipeTable& table);
// "optimizer.decay"; `kind` is the optimizer's.
optim::DecayedParams read_decay(const RecipeTable& table, optim::OptimizerKind kind);
optim::Clipping read_clipping(const RecipeTable& table);
distributed::NonFinite read_non_finite(const RecipeTable& table);
// "train.precision"; an error where this processor has none such.
Precision read_precision(const RecipeTable& table);
OnException read_on_exception(const RecipeTable& table);

template <typename T>
T required(const RecipeTable& table, std::string_view key, std::optional<T> value, std::string_view what) {
  if (!value) table.fail(key, fmt::format("missing; expected {}", what));
  return *std::move(value);
}

}  // namespace viva::cli
