#include "cli/training_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/console.h"
#include "cli/progress_watch.h"
#include "viva/base/cpu.h"
#include "viva/base/error.h"
#include "viva/nn/classifier.h"

namespace viva::cli {
namespace {

using distributed::GradAggregation;

std::string_view in_words(GradAggregation aggregation) {
  switch (aggregation) {
    case GradAggregation::kSum:
      return "gradients summed over workers";
    case GradAggregation::kAverage:
      return "gradients averaged over workers";
    case GradAggregation::kWeightedAverage:
      return "gradients averaged over samples";
  }
  throw Error("an aggregation outside the enumeration");
}

}  // namespace

double TrainingOutcome::samples_per_second() const {
  return seconds > 0 ? static_cast<double>(result.samples) / seconds : 0;
}

TrainingRun::TrainingRun(const Recipe& recipe, const TrainProblem& problem, Executor executor, std::int64_t executors)
    : recipe_(recipe),
      problem_(problem),
      executor_(executor),
      executors_(executors),
      loader_(problem.train, {.batch_size = recipe.train.batch_size,
                              .shuffle = recipe.train.shuffle,
                              .drop_last = recipe.train.drop_last,
                              .seed = recipe.train.seed}),
      config_{.num_workers = recipe.train.workers,
              .batches_per_step = recipe.train.batches_per_step,
              .aggregation = recipe.train.aggregation,
              .epochs = recipe.train.epochs.value_or(0),
              .clipping = recipe.train.clipping,
              .non_finite = recipe.train.non_finite},
      num_steps_(recipe.train.steps.value_or(-1)) {
  if (loader_.size() == 0) {
    throw ConfigError({}, 0, "train.drop_last",
                      fmt::format("drops the only batch, which is short: {} samples, train.batch_size {}",
                                  problem.train.size(), recipe.train.batch_size));
  }
  config_.schedule = recipe.schedule.for_run(planned_steps());
}

std::int64_t TrainingRun::planned_steps() const {
  if (num_steps_ >= 0) return num_steps_;
  return (config_.epochs * loader_.size() + config_.batches_per_step - 1) / config_.batches_per_step;
}

void TrainingRun::print_plan() const {
  std::int64_t elements = 0;
  for (const nn::ParamSpec& spec : problem_.model.specs()) elements += element_count(spec.shape);
  print_message(fmt::format("data: {} training samples of shape {}, {} test samples", problem_.train.size(),
                            to_string(problem_.train.spec().input_shape),
                            problem_.test ? problem_.test->size() : std::int64_t{0}));
  print_message(fmt::format("model: {}, {} parameters; optimizer {}, lr {}", problem_.model_name, elements,
                            name_of(recipe_.optimizer.kind()), recipe_.optimizer.settings().lr));
  if (recipe_.schedule.kind != optim::ScheduleKind::kConstant || recipe_.schedule.settings.warmup_steps > 0) {
    print_message(fmt::format("schedule: {}, {} steps of warm-up", name_of(recipe_.schedule.kind),
                              recipe_.schedule.settings.warmup_steps));
  }
  print_message(fmt::format("plan: {} workers, batches of {}, {} batches a step, {}; {} steps", config_.num_workers,
                            recipe_.train.batch_size, config_.batches_per_step, in_words(config_.aggregation),
                            planned_steps()));
  print_message(executor_ == Executor::kReference
                    ? "executors: the reference, one thread"
                    : fmt::format("executors: {} threads on {} CPUs", executors_, available_cpus()));
}

TrainingOutcome TrainingRun::run(Audience audience) const {
  const std::vector<Param> params = problem_.model.initial_params(recipe_.train.seed);
  return executor_ == Executor::kReference ? run_reference(params, audience) : run_threads(params, audience);
}

TrainingOutcome TrainingRun::run_threads(const std::vector<Param>& params, Audience audience) const {
  distributed::TrainerOptions options;
  options.executors = executors_;
  options.log = [](LogLevel level, std::string_view message) {
    print_message(fmt::format("{}{}", level == LogLevel::kWarning ? "warning: " : "", message));
  };
  distributed::Trainer trainer(config_, params, recipe_.optimizer, loader_, nn::classifier_loss(problem_.model),
                               std::move(options));
  const double seconds = timed(
      audience, [&] { return trainer.progress(); }, [&] { trainer.run(num_steps_); });
  return outcome(trainer.result(), seconds);
}

TrainingOutcome TrainingRun::run_reference(const std::vector<Param>& params, Audience audience) const {
  // The reference reports nothing while it runs, so its batches are counted as they are computed.
  std::atomic<std::int64_t> batches = 0;
  std::atomic<std::int64_t> samples = 0;
  std::atomic<double> loss = 0;
  const auto compute_grads = nn::classifier_loss(problem_.model);
  const auto counting = [&](const StepContext& context, const data::Batch& batch, std::span<const Param> current,
                            GradSink& grads) {
    loss = compute_grads(context, batch, current, grads);
    ++batches;
    samples += batch.size();
    return loss.load();
  };
  const auto progress = [&] { return distributed::Progress{batches / config_.batches_per_step, samples, loss}; };
  std::optional<distributed::TrainResult> result;
  const double seconds = timed(audience, progress, [&] {
    result = train_synchronous(config_, params, recipe_.optimizer, loader_, counting, num_steps_);
  });
  return outcome(*std::move(result), seconds);
}

double TrainingRun::timed(Audience audience, const ProgressSource& progress, const std::function<void()>& steps) const {
  using Clock = std::chrono::steady_clock;
  std::optional<ProgressWatch> watch;
  if (audience == Audience::kPerson) {
    const double steps_per_epoch = static_cast<double>(loader_.size()) / static_cast<double>(config_.batches_per_step);
    const auto epochs = std::llround(std::ceil(static_cast<double>(planned_steps()) / steps_per_epoch));
    watch.emplace(observe::ProgressPlan{.total_steps = planned_steps(),
                                        .total_epochs = config_.epochs > 0 ? config_.epochs : std::max(1LL, epochs),
                                        .steps_per_epoch = steps_per_epoch},
                  progress);
  }
  const Clock::time_point begin = Clock::now();
  steps();
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (watch) watch->finish();
  return seconds;
}

TrainingOutcome TrainingRun::outcome(distributed::TrainResult result, double seconds) const {
  const double epochs = static_cast<double>(result.batches) / static_cast<double>(loader_.size());
  return {std::move(result), epochs, seconds, executors_};
}

}  // namespace viva::cli
