// Schedules: how the learning rate changes from step to step.
#pragma once

#include <cstdint>
#include <string_view>

namespace viva::optim {

enum class ScheduleKind { kConstant, kStep, kLinear, kCosine };

// "constant", "step", "linear", "cosine".
std::string_view name_of(ScheduleKind kind);

// A kind reads only the settings that are named for it; all of them read warmup_steps.
struct ScheduleSettings {
  std::int64_t warmup_steps = 0;  // the factor rises evenly and is 1 in the last of them
  std::int64_t total_steps = 0;   // linear, cosine: from this step on the factor is final_factor; warm-up included
  double final_factor = 0;        // linear, cosine
  std::int64_t period = 0;        // step: steps between two falls
  double gamma = 0.1;             // step: what a fall multiplies by
};

// A factor for every learning rate, as a pure function of the step. docs/algorithms.md has the formulas. Immutable;
// thread-safe.
class Schedule {
 public:
  // Constant: 1.
  Schedule() = default;
  // ConfigError (key "schedule.total_steps", …) for a setting of this kind outside its range.
  Schedule(ScheduleKind kind, const ScheduleSettings& settings);

  ScheduleKind kind() const { return kind_; }
  const ScheduleSettings& settings() const { return settings_; }

  // `step` counts from 0, steps that were skipped included.
  double factor(std::int64_t step) const;

 private:
  ScheduleKind kind_ = ScheduleKind::kConstant;
  ScheduleSettings settings_;
};

}  // namespace viva::optim
