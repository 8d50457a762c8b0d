// [schedule], groups of parameters, clipping, and what happens where a gradient is not finite.
#include "cli/recipe_training.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <string_view>

#include "cli/nearest.h"
#include "cli/recipe_sections.h"
#include "viva/base/error.h"

namespace viva::cli {
namespace {

using distributed::NonFinite;
using optim::DecayedParams;
using optim::OptimizerKind;
using optim::ScheduleKind;

constexpr IntegerRange kStepCount{0, 1'000'000'000'000};
constexpr std::array<std::string_view, 4> kGroupKeys{"params", "lr", "weight_decay", "frozen"};

std::optional<double> positive(const RecipeTable& table, std::string_view key) {
  const std::optional<double> value = table.number(key);
  if (value && !(std::isfinite(*value) && *value > 0)) {
    table.fail(key, fmt::format("expected a number > 0, found {}", *value));
  }
  return value;
}

// A setting that only some schedules have.
void expect_taker(const RecipeTable& table, std::string_view key, ScheduleKind kind,
                  std::initializer_list<ScheduleKind> takers) {
  if (!table.has(key) || std::ranges::find(takers, kind) != takers.end()) return;
  std::vector<std::string_view> names;
  for (const ScheduleKind taker : takers) names.push_back(name_of(taker));
  table.fail(key, fmt::format("{} has no such setting, only {}", name_of(kind), fmt::join(names, ", ")));
}

// One of optimizer.groups, whose errors are at its own line.
class GroupReader {
 public:
  GroupReader(const RecipeTable& table, const toml::node& node, std::size_t number)
      : table_(table), node_(node), number_(number) {}

  optim::ParamGroup read() const {
    const toml::table* group = node_.as_table();
    if (group == nullptr) reject("expected a table such as {params = [\"*.bias\"], weight_decay = 0}");
    for (const auto& [key, value] : *group) {
      if (std::ranges::find(kGroupKeys, key.str()) != kGroupKeys.end()) continue;
      const std::string meant = nearest(key.str(), kGroupKeys);
      reject(fmt::format("unknown key {}; {}", key.str(),
                         meant.empty() ? fmt::format("a group has {}", fmt::join(kGroupKeys, ", "))
                                       : fmt::format("did you mean {}?", meant)));
    }
    optim::ParamGroup read;
    const toml::array* params = group->get_as<toml::array>("params");
    if (params == nullptr || params->empty()) reject("expected params = [\"NAME\", ...], where * matches anything");
    for (const toml::node& name : *params) {
      if (!name.is_string()) reject("params: expected an array of strings");
      read.params.push_back(name.as_string()->get());
    }
    read.lr = number(*group, "lr");
    read.weight_decay = number(*group, "weight_decay");
    if (const toml::node* frozen = group->get("frozen")) {
      if (!frozen->is_boolean()) reject("frozen: expected true or false");
      read.frozen = frozen->as_boolean()->get();
    }
    return read;
  }

 private:
  [[noreturn]] void reject(const std::string& message) const {
    table_.fail_at(&node_, "optimizer.groups", fmt::format("group {}: {}", number_, message));
  }

  std::optional<double> number(const toml::table& group, std::string_view key) const {
    const toml::node* node = group.get(key);
    if (node == nullptr) return std::nullopt;
    const std::optional<double> value = node->is_number() ? node->value<double>() : std::nullopt;
    if (!value) reject(fmt::format("{}: expected a number", key));
    return value;
  }

  const RecipeTable& table_;
  const toml::node& node_;
  std::size_t number_;
};

}  // namespace

std::string_view name_of(OnException on_exception) { return on_exception == OnException::kRetry ? "retry" : "fail"; }

optim::Schedule ScheduleRecipe::for_run(std::int64_t planned_steps) const {
  optim::ScheduleSettings own = settings;
  // A run that ends within its warm-up is one that was cut short: nothing is wrong with that.
  if (ends_with_run) own.total_steps = std::max(planned_steps, own.warmup_steps + 1);
  return {kind, own};
}

SectionKeys schedule_keys() {
  return {"schedule", {"kind", "warmup_steps", "total_steps", "final_factor", "period", "gamma"}};
}

ScheduleRecipe read_schedule(const RecipeTable& table) {
  using enum ScheduleKind;
  if (!table.has("schedule")) return {};
  ScheduleRecipe schedule;
  const auto kind = choice(table, "schedule.kind", std::array{kConstant, kStep, kLinear, kCosine});
  if (!kind) table.fail("schedule.kind", "missing; expected constant, step, linear or cosine");
  schedule.kind = *kind;
  for (const std::string_view key : {"schedule.total_steps", "schedule.final_factor"}) {
    expect_taker(table, key, *kind, {kLinear, kCosine});
  }
  for (const std::string_view key : {"schedule.period", "schedule.gamma"}) expect_taker(table, key, *kind, {kStep});

  optim::ScheduleSettings& s = schedule.settings;
  s.warmup_steps = table.integer("schedule.warmup_steps", kStepCount).value_or(s.warmup_steps);
  s.total_steps = table.integer("schedule.total_steps", kStepCount).value_or(s.total_steps);
  s.final_factor = table.number("schedule.final_factor").value_or(s.final_factor);
  s.period = table.integer("schedule.period", kStepCount).value_or(s.period);
  s.gamma = table.number("schedule.gamma").value_or(s.gamma);
  schedule.ends_with_run = (*kind == kLinear || *kind == kCosine) && !table.has("schedule.total_steps");
  try {
    schedule.for_run(0);
  } catch (const ConfigError& error) {
    // The schedule knows the ranges, this table the place.
    table.fail(error.key, std::string(error.what()).substr(error.key.size() + 2));
  }
  return schedule;
}

std::vector<optim::ParamGroup> read_groups(const RecipeTable& table) {
  std::vector<optim::ParamGroup> groups;
  const toml::node* node = table.find("optimizer.groups");
  if (node == nullptr) return groups;
  if (!node->is_array()) table.fail("optimizer.groups", "expected an array of tables");
  for (const toml::node& group : *node->as_array()) {
    groups.push_back(GroupReader(table, group, groups.size() + 1).read());
  }
  return groups;
}

DecayedParams read_decay(const RecipeTable& table, OptimizerKind kind) {
  const auto decay = choice(table, "optimizer.decay", std::array{DecayedParams::kAll, DecayedParams::kMatrices});
  if (decay && kind != OptimizerKind::kAdamW) {
    table.fail("optimizer.decay", fmt::format("{} has no such setting, only adamw", name_of(kind)));
  }
  return decay.value_or(DecayedParams::kAll);
}

optim::Clipping read_clipping(const RecipeTable& table) {
  return {positive(table, "train.clip_norm"), positive(table, "train.clip_value")};
}

NonFinite read_non_finite(const RecipeTable& table) {
  return choice(table, "train.non_finite", std::array{NonFinite::kIgnore, NonFinite::kError, NonFinite::kSkip})
      .value_or(NonFinite::kIgnore);
}

Precision read_precision(const RecipeTable& table) {
  const auto precision = choice(table, "train.precision", std::array{Precision::kF32, Precision::kBf16});
  if (precision == Precision::kBf16 && !bf16_available()) {
    table.fail(
        "train.precision",
        "this processor has no bfloat16 arithmetic (AVX-512 BF16 or AMX), which \"bf16\" needs; expected \"f32\"");
  }
  return precision.value_or(Precision::kF32);
}

OnException read_on_exception(const RecipeTable& table) {
  return choice(table, "train.on_exception", std::array{OnException::kFail, OnException::kRetry})
      .value_or(OnException::kFail);
}

}  // namespace viva::cli
