// The sections of a recipe, each read by a file of its own, and what they share.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/nearest.h"
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

// The value whose name stands at `key`; an unknown word is an error that suggests the nearest name.
template <typename Enum, std::size_t N>
std::optional<Enum> choice(const RecipeTable& table, std::string_view key, const std::array<Enum, N>& values) {
  const std::optional<std::string> name = table.string(key);
  if (!name) return std::nullopt;
  std::array<std::string_view, N> names;
  std::ranges::transform(values, names.begin(), [](Enum value) { return name_of(value); });
  const auto found = std::ranges::find(names, *name);
  if (found != names.end()) return values[static_cast<std::size_t>(found - names.begin())];
  const std::string meant = nearest(*name, names);
  table.fail(key, fmt::format("expected one of {}, found \"{}\"{}", fmt::join(names, ", "), *name,
                              meant.empty() ? "" : fmt::format("; did you mean \"{}\"?", meant)));
}

}  // namespace viva::cli
