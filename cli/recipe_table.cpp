#include "cli/recipe_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "cli/nearest.h"
#include "viva/base/error.h"

static_assert(TOML_EXCEPTIONS, "a syntax error must arrive as toml::parse_error");

namespace viva::cli {
namespace {

// As for a recipe's size: the parser needs stack for every level of nesting.
constexpr std::size_t kMaxOverrideSize = 4096;

std::int64_t line_of(const toml::node& node) { return static_cast<std::int64_t>(node.source().begin.line); }

std::pair<std::string_view, std::string_view> split_key(std::string_view key) {
  const std::size_t dot = key.find('.');
  return {key.substr(0, dot), key.substr(dot + 1)};
}

// "the string \"abc\"", "the number 0.5", "an array".
std::string describe(const toml::node& node) {
  if (const auto* text = node.as_string()) return fmt::format("the string \"{}\"", text->get());
  if (const auto* number = node.as_integer()) return fmt::format("the whole number {}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("the number {}", number->get());
  if (const auto* value = node.as_boolean()) return value->get() ? "true" : "false";
  if (node.is_array()) return "an array";
  if (node.is_table()) return "a table";
  return "a date or time";
}

bool is_bare_key(std::string_view text) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  return !text.empty() && text.find_first_not_of(kAllowed) == std::string_view::npos;
}

// Whether `text` can only be meant as a string without its quotes: a word, a path.
bool is_bare_string(std::string_view text) {
  const char first = text.empty() ? '\0' : text.front();
  const bool begins = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '_' ||
                      first == '/' || first == '.' || first == '~';
  return begins && std::none_of(text.begin(), text.end(),
                                [](char c) { return c == '"' || c == '\'' || static_cast<unsigned char>(c) < ' '; });
}

}  // namespace

RecipeTable::RecipeTable(std::string_view text, const std::string& file, std::span<const std::string> overrides,
                         std::span<const SectionKeys> known)
    : file_(file) {
  try {
    root_ = toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    throw ConfigError(file, static_cast<std::int64_t>(error.source().begin.line), {},
                      "this is no valid TOML: " + std::string(error.description()));
  }
  for (const std::string& override_text : overrides) apply_override(override_text);
  reject_unknown(known);
}

void RecipeTable::apply_override(const std::string& text) {
  const auto reject = [&](const std::string& message) { throw ConfigError({}, 0, "--set " + text, message); };
  if (text.size() > kMaxOverrideSize) {
    throw ConfigError({}, 0, "--set",
                      fmt::format("expected at most {} bytes, found {}", kMaxOverrideSize, text.size()));
  }
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) reject("expected section.key=value");
  const std::string key = text.substr(0, equals);
  const std::string value = text.substr(equals + 1);
  const auto [section, name] = split_key(key);
  if (section.size() == key.size() || !is_bare_key(section) || !is_bare_key(name)) {
    reject("expected section.key=value, such as train.workers=8 or optimizer.kind=adam");
  }

  toml::table parsed;
  try {
    parsed = toml::parse("value = " + value);
  } catch (const toml::parse_error& error) {
    if (!is_bare_string(value)) reject("the value is no valid TOML: " + std::string(error.description()));
    parsed.insert_or_assign("value", value);
  }
  toml::node* node = parsed.get("value");
  if (parsed.size() != 1 || node == nullptr) reject("expected a single value");

  toml::node* table = root_.get(section);
  if (table == nullptr) {
    table = &root_.insert(section, toml::table{}).first->second;
  } else if (!table->is_table()) {
    fail(section, fmt::format("expected a table [{}], found {}", section, describe(*table)));
  }
  table->as_table()->insert_or_assign(name, std::move(*node));
  overrides_[key] = text;

  // Exactly one of these two is given, so that the other one gives way, unless it is an override as well.
  const auto give_way = [&](std::string_view winner, std::string_view loser) {
    if (key == winner && !overrides_.contains(loser)) table->as_table()->erase(split_key(loser).second);
  };
  give_way("train.steps", "train.epochs");
  give_way("train.epochs", "train.steps");
}

void RecipeTable::reject_unknown(std::span<const SectionKeys> known) const {
  std::vector<std::string_view> section_names;
  std::vector<std::string> full_keys;
  for (const SectionKeys& section : known) {
    section_names.push_back(section.section);
    for (const std::string_view key : section.keys) full_keys.push_back(fmt::format("{}.{}", section.section, key));
  }
  for (const auto& [section_key, node] : root_) {
    const std::string section_name(section_key.str());
    const auto section = std::find_if(known.begin(), known.end(),
                                      [&](const SectionKeys& candidate) { return candidate.section == section_name; });
    if (section == known.end()) {
      const std::string meant = nearest(section_name, section_names);
      const std::string advice = meant.empty() ? fmt::format("a recipe has [{}]", fmt::join(section_names, "], ["))
                                               : fmt::format("did you mean [{}]?", meant);
      fail_at(&node, section_name, fmt::format("unknown {}; {}", node.is_table() ? "section" : "key", advice));
    }
    if (!node.is_table()) {
      fail_at(&node, section_name, fmt::format("expected a table [{}], found {}", section_name, describe(node)));
    }
    for (const auto& [key_text, value] : *node.as_table()) {
      const std::string_view key = key_text.str();
      if (std::find(section->keys.begin(), section->keys.end(), key) != section->keys.end()) continue;
      const std::string full_key = fmt::format("{}.{}", section_name, key);
      // The right key in the wrong section is the nearest of all.
      const auto elsewhere = std::find_if(full_keys.begin(), full_keys.end(), [&](const std::string& candidate) {
        return split_key(candidate).second == key;
      });
      std::string meant = elsewhere != full_keys.end() ? *elsewhere : "";
      if (const std::string near = nearest(key, section->keys); meant.empty() && !near.empty()) {
        meant = fmt::format("{}.{}", section_name, near);
      }
      fail_at(&value, full_key,
              meant.empty() ? fmt::format("unknown key; [{}] has {}", section_name, fmt::join(section->keys, ", "))
                            : fmt::format("unknown key; did you mean {}?", meant));
    }
  }
}

const toml::node* RecipeTable::find(std::string_view key) const {
  const auto [section, name] = split_key(key);
  const toml::node* node = root_.get(section);
  if (node == nullptr || section.size() == key.size()) return node;
  return node->is_table() ? node->as_table()->get(name) : nullptr;
}

void RecipeTable::fail(std::string_view key, const std::string& message) const {
  const toml::node* node = find(key);
  if (node == nullptr) node = root_.get(split_key(key).first);
  fail_at(node, key, message);
}

void RecipeTable::fail_at(const toml::node* node, std::string_view key, const std::string& message) const {
  if (const auto found = overrides_.find(key); found != overrides_.end()) {
    throw ConfigError({}, 0, std::string(key), fmt::format("{} (from --set {})", message, found->second));
  }
  throw ConfigError(file_, node == nullptr ? 0 : line_of(*node), std::string(key), message);
}

std::optional<std::string> RecipeTable::string(std::string_view key) const {
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  if (!node->is_string()) fail(key, fmt::format("expected a string, found {}", describe(*node)));
  return node->as_string()->get();
}

std::vector<std::string> RecipeTable::strings(std::string_view key) const {
  const toml::node* node = find(key);
  if (node == nullptr) return {};
  if (node->is_string()) return {node->as_string()->get()};
  const bool array = node->is_array() && !node->as_array()->empty();
  if (!array) fail(key, fmt::format("expected a string or an array of strings, found {}", describe(*node)));
  std::vector<std::string> texts;
  for (const toml::node& element : *node->as_array()) {
    if (!element.is_string()) fail(key, fmt::format("expected an array of strings, found {}", describe(element)));
    texts.push_back(element.as_string()->get());
  }
  return texts;
}

std::optional<bool> RecipeTable::boolean(std::string_view key) const {
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  if (!node->is_boolean()) fail(key, fmt::format("expected true or false, found {}", describe(*node)));
  return node->as_boolean()->get();
}

std::optional<std::int64_t> RecipeTable::integer(std::string_view key, IntegerRange range) const {
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  return checked_integer(key, *node, range);
}

std::optional<double> RecipeTable::number(std::string_view key) const {
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  if (const auto* whole = node->as_integer()) return static_cast<double>(whole->get());
  if (!node->is_floating_point()) fail(key, fmt::format("expected a number, found {}", describe(*node)));
  return node->as_floating_point()->get();
}

std::optional<std::vector<std::int64_t>> RecipeTable::integers(std::string_view key, IntegerRange range) const {
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  if (!node->is_array()) fail(key, fmt::format("expected an array of whole numbers, found {}", describe(*node)));
  std::vector<std::int64_t> numbers;
  for (const toml::node& element : *node->as_array()) numbers.push_back(checked_integer(key, element, range));
  return numbers;
}

std::int64_t RecipeTable::checked_integer(std::string_view key, const toml::node& node, IntegerRange range) const {
  if (!node.is_integer()) fail(key, fmt::format("expected a whole number, found {}", describe(node)));
  const std::int64_t value = node.as_integer()->get();
  if (value < range.min || value > range.max) {
    fail(key, fmt::format("expected a whole number from {} to {}, found {}", range.min, range.max, value));
  }
  return value;
}

}  // namespace viva::cli
