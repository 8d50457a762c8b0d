// The parts of a recipe that say how training treats learning rates and gradients: [schedule], groups of parameters,
// clipping, and what happens where a gradient is not finite.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cli/recipe_table.h"
#include "viva/distributed/gradient_guard.h"
#include "viva/optim/clipping.h"
#include "viva/optim/optimizer.h"
#include "viva/optim/schedule.h"
#include "viva/tensor/precision.h"

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

// The keys of [schedule].
SectionKeys schedule_keys();

// ConfigError with file, line and key for what cannot be used.
ScheduleRecipe read_schedule(const RecipeTable& table);
std::vector<optim::ParamGroup> read_groups(const RecipeTable& table);
// "optimizer.decay"; `kind` is the optimizer's.
optim::DecayedParams read_decay(const RecipeTable& table, optim::OptimizerKind kind);
optim::Clipping read_clipping(const RecipeTable& table);
distributed::NonFinite read_non_finite(const RecipeTable& table);
// "train.precision"; an error where this processor has none such.
Precision read_precision(const RecipeTable& table);
OnException read_on_exception(const RecipeTable& table);

}  // namespace viva::cli
