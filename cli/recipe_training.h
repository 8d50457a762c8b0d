// What a recipe says of schedules and of exceptions, as it says it.
#pragma once

#include <cstdint>
#include <string_view>

#include "viva/optim/schedule.h"

namespace viva::cli {

struct ScheduleRecipe {
  optim::ScheduleKind kind = optim::ScheduleKind::kConstant;
  optim::ScheduleSettings settings;
  bool ends_with_run = false;  // the recipe gives no total_steps, and its kind needs some

  // For a run of `planned_steps`.
  optim::Schedule for_run(std::int64_t planned_steps) const;
};

// What an exception in a worker does: it ends training, or the batch is computed again, up to three times in all.
enum class OnException { kFail, kRetry };

// "fail", "retry".
std::string_view name_of(OnException on_exception);

}  // namespace viva::cli
