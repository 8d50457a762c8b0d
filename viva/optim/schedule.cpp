#include "viva/optim/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "viva/base/error.h"

namespace viva::optim {
namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, 4> kNames{"constant", "step", "linear", "cosine"};

template <typename Number>
void expect_setting(bool good, std::string_view key, std::string_view range, Number got) {
  if (good) return;
  throw ConfigError({}, 0, fmt::format("schedule.{}", key), fmt::format("expected a number {}, got {}", range, got));
}

}  // namespace

std::string_view name_of(ScheduleKind kind) { return kNames.at(static_cast<std::size_t>(kind)); }

Schedule::Schedule(ScheduleKind kind, const ScheduleSettings& settings) : kind_(kind), settings_(settings) {
  expect_setting(settings.warmup_steps >= 0, "warmup_steps", ">= 0", settings.warmup_steps);
  if (kind == ScheduleKind::kStep) {
    expect_setting(settings.period >= 1, "period", ">= 1", settings.period);
    expect_setting(std::isfinite(settings.gamma) && settings.gamma > 0, "gamma", "> 0", settings.gamma);
  }
  if (kind == ScheduleKind::kLinear || kind == ScheduleKind::kCosine) {
    expect_setting(settings.total_steps > settings.warmup_steps, "total_steps",
                   fmt::format("> warmup_steps ({})", settings.warmup_steps), settings.total_steps);
    expect_setting(std::isfinite(settings.final_factor) && settings.final_factor >= 0, "final_factor", ">= 0",
                   settings.final_factor);
  }
}

double Schedule::factor(std::int64_t step) const {
  const ScheduleSettings& s = settings_;
  if (step < s.warmup_steps) return static_cast<double>(step + 1) / static_cast<double>(s.warmup_steps);
  const std::int64_t since = step - s.warmup_steps;
  // From 0 at the end of the warm-up to 1 at the end of the schedule.
  const auto progress = [&] {
    return std::min(1.0, static_cast<double>(since) / static_cast<double>(s.total_steps - s.warmup_steps));
  };
  const std::int64_t falls = kind_ == ScheduleKind::kStep ? since / s.period : 0;
  switch (kind_) {
    case ScheduleKind::kConstant:
      return 1;
    case ScheduleKind::kStep:
      return std::pow(s.gamma, static_cast<double>(falls));
    case ScheduleKind::kLinear:
      return 1 + (s.final_factor - 1) * progress();
    case ScheduleKind::kCosine:
      // The cosine of pi is exactly -1, so that the end is exactly final_factor.
      return s.final_factor + (1 - s.final_factor) * (0.5 * (1 + std::cos(std::numbers::pi * progress())));
  }
  throw ConfigError({}, 0, "schedule.kind", "a value outside the enumeration");
}

}  // namespace viva::optim
