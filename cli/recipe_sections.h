// The sections of a recipe, each read by a file of its own, and what they share.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/recipe.h"
#include "cli/recipe_table.h"

namespace viva::cli {

inline constexpr IntegerRange kCount{1, 1'000'000'000};
inline constexpr IntegerRange kWidth{1, 1'000'000};

// The keys of a section.
SectionKeys data_keys();
SectionKeys model_keys();

DataRecipe read_data(const RecipeTable& table, const std::string& file);
ModelRecipe read_model(const RecipeTable& table);

template <typename T>
T required(const RecipeTable& table, std::string_view key, std::optional<T> value, std::string_view what) {
  if (!value) table.fail(key, fmt::format("missing; expected {}", what));
  return *std::move(value);
}

}  // namespace viva::cli
