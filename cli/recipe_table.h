// RecipeTable: a recipe's sections and keys, checked against what is known, with typed look-ups whose errors say where.
#pragma once

#include <toml++/toml.h>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace viva::cli {

struct IntegerRange {
  std::int64_t min = 0, max = 0;
};

struct SectionKeys {
  std::string_view section;
  std::vector<std::string_view> keys;
};

// Keys are full names such as "train.workers". Every error is a ConfigError.
class RecipeTable {
 public:
  // Parses, puts the overrides in, and rejects every section and key that `known` has not.
  RecipeTable(std::string_view text, const std::string& file, std::span<const std::string> overrides,
              std::span<const SectionKeys> known);

  bool has(std::string_view key) const { return find(key) != nullptr; }
  // Nothing where the key is not given; an error where it has another type or is outside the range.
  std::optional<std::string> string(std::string_view key) const;
  // A string, or an array of some; empty where the key is not given.
  std::vector<std::string> strings(std::string_view key) const;
  std::optional<bool> boolean(std::string_view key) const;
  std::optional<std::int64_t> integer(std::string_view key, IntegerRange range) const;
  std::optional<double> number(std::string_view key) const;
  std::optional<std::vector<std::int64_t>> integers(std::string_view key, IntegerRange range) const;

  // The value as TOML has it; null where the key is not given.
  const toml::node* find(std::string_view key) const;

  // An error at the key's place, or at its section's where it is not given.
  [[noreturn]] void fail(std::string_view key, const std::string& message) const;
  // An error at the node's place; without a node, only the file is known.
  [[noreturn]] void fail_at(const toml::node* node, std::string_view key, const std::string& message) const;

 private:
  void apply_override(const std::string& text);
  void reject_unknown(std::span<const SectionKeys> known) const;
  std::int64_t checked_integer(std::string_view key, const toml::node& node, IntegerRange range) const;

  std::string file_;
  toml::table root_;
  std::map<std::string, std::string, std::less<>> overrides_;  // key to the override's text
};

}  // namespace viva::cli
