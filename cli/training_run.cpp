#include "cli/training_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "cli/console.h"
#include "cli/interruption.h"
#include "cli/progress_watch.h"
#include "viva/base/cpu.h"
#include "viva/base/error.h"
#include "viva/data/augment.h"
#include "viva/distributed/step_rules.h"
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

Straggler straggler_of(std::span<const double> seconds) {
  if (seconds.empty()) return {};
  const auto slowest = std::ranges::max_element(seconds);
  std::vector<double> sorted(seconds.begin(), seconds.end());
  std::ranges::sort(sorted);
  return {slowest - seconds.begin(), *slowest, sorted[sorted.size() / 2]};
}

}  // namespace

double TrainingOutcome::samples_per_second() const {
  return seconds > 0 ? static_cast<double>(result.samples) / seconds : 0;
}

// What surrounds the steps of a run: the clock, the progress line, and looks at the validation data.
class TrainingRun::Session {
 public:
  using Clock = std::chrono::steady_clock;
  using ProgressSource = std::function<distributed::Progress()>;

  Session(const TrainingRun& run, Audience audience) : run_(run), audience_(audience) {
    if (run.problem_.validation) validation_.emplace(run.recipe_.train, run.problem_, run.steps_per_epoch());
  }

  // `progress` may be called from another thread, until finish().
  void begin(ProgressSource progress) {
    if (audience_ == Audience::kPerson) {
      const auto& [per_step, epochs] = std::pair(run_.config_.batches_per_step, run_.config_.epochs);
      const double steps_per_epoch = static_cast<double>(run_.loader_.size()) / static_cast<double>(per_step);
      const auto begun = std::llround(std::ceil(static_cast<double>(run_.planned_steps()) / steps_per_epoch));
      watch_.emplace(observe::ProgressPlan{.total_steps = run_.planned_steps(),
                                           .total_epochs = epochs > 0 ? epochs : std::max(1LL, begun),
                                           .steps_per_epoch = steps_per_epoch},
                     std::move(progress));
    }
    begin_ = Clock::now();
  }

  const std::optional<Validation>& validation() const { return validation_; }

  // A line beside the progress; from the thread that trains.
  void note(const std::string& text) { watch_ ? watch_->note(message_line(text)) : print_message(text); }

  // Looks at the validation data, where there is any; false where training is to end.
  bool look(std::int64_t steps, std::span<const Param> params) {
    if (!validation_ || steps == 0) return true;
    const Clock::time_point pause = Clock::now();
    if (watch_) watch_->pause();
    validation_->look(steps, params);
    if (watch_) watch_->note(validation_->in_words());
    const bool exhausted = validation_->exhausted();
    if (watch_ && exhausted) watch_->note("no better for as long as train.patience says: training ends");
    if (watch_) watch_->resume();
    begin_ += Clock::now() - pause;
    return !exhausted;
  }

  void note_end_of_first_step() { end_of_first_step_ = Clock::now(); }
  std::optional<Clock::time_point> end_of_first_step() const { return end_of_first_step_; }

  // Stops the clock; what `progress` refers to may go.
  distributed::TrainResult finish(distributed::TrainResult result) {
    seconds_ = std::chrono::duration<double>(Clock::now() - begin_).count();
    if (watch_) watch_->finish();
    watch_.reset();
    return result;
  }
  // From begin() to finish(), without the looks.
  double seconds() const { return seconds_; }

 private:
  const TrainingRun& run_;
  Audience audience_;
  std::optional<Validation> validation_;
  std::optional<ProgressWatch> watch_;
  Clock::time_point begin_;
  std::optional<Clock::time_point> end_of_first_step_;
  double seconds_ = 0;
};

TrainingRun::TrainingRun(const Recipe& recipe, const Problem& problem, RunOptions options)
    : recipe_(recipe),
      problem_(problem),
      options_(std::move(options)),
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
  const auto kills = [](const distributed::Fault& fault) {
    return fault.kind == distributed::Fault::Kind::kKill || fault.kind == distributed::Fault::Kind::kRandomKill;
  };
  if (options_.executors.kind != Executor::kProcesses && std::ranges::any_of(options_.faults, kills)) {
    throw ConfigError({}, 0, "--inject", "only a worker in a process of its own can be killed; add --processes");
  }
  config_.schedule = recipe.schedule.for_run(planned_steps());
}

std::int64_t TrainingRun::steps_per_epoch() const {
  return (loader_.size() + config_.batches_per_step - 1) / config_.batches_per_step;
}

std::int64_t TrainingRun::planned_steps() const {
  return distributed::StepSchedule(config_, loader_.size()).last_step(0, num_steps_);
}

distributed::ComputeGrads TrainingRun::loss() const {
  return distributed::with_faults(plain_loss(), options_.faults, config_.num_workers);
}

distributed::ComputeGrads TrainingRun::plain_loss() const {
  const nn::Model& model = problem_.model.model;
  const autograd::GradOptions options{.precision = recipe_.train.precision};
  if (!problem_.augmentation.any()) return nn::classifier_loss(model, {}, options);
  return autograd::value_and_grad(
      [model, augmentation = problem_.augmentation](const data::Batch& batch, const autograd::Params& params) {
        const Tensor images = data::augment(params.context(), batch.inputs, augmentation);
        return autograd::cross_entropy(model(params, images), batch.targets);
      },
      options);
}

void TrainingRun::print_plan() const {
  std::int64_t elements = 0;
  for (const nn::ParamSpec& spec : problem_.model.model.specs()) elements += element_count(spec.shape);
  const auto also = [](const std::optional<data::Dataset>& part, std::string_view name) {
    return part ? fmt::format(", {} {} samples", part->size(), name) : std::string();
  };
  print_message(fmt::format("data: {} training samples of shape {}{}{}", problem_.train.size(),
                            to_string(problem_.train.spec().input_shape), also(problem_.validation, "validation"),
                            also(problem_.test, "test")));
  print_message(fmt::format("model: {}, {} parameters; optimizer {}, lr {}", problem_.model.name, elements,
                            name_of(recipe_.optimizer.kind()), recipe_.optimizer.settings().lr));
  if (recipe_.schedule.kind != optim::ScheduleKind::kConstant || recipe_.schedule.settings.warmup_steps > 0) {
    print_message(fmt::format("schedule: {}, {} steps of warm-up", name_of(recipe_.schedule.kind),
                              recipe_.schedule.settings.warmup_steps));
  }
  print_message(fmt::format("plan: {} workers, batches of {}, {} batches a step, {}; {} steps", config_.num_workers,
                            recipe_.train.batch_size, config_.batches_per_step, in_words(config_.aggregation),
                            planned_steps()));
  const auto& [kind, count, least] = options_.executors;
  print_message(kind == Executor::kReference
                    ? "executors: the reference, one thread"
                    : fmt::format("executors: {} {} on {} CPUs", count,
                                  kind == Executor::kProcesses ? "processes" : "threads", available_cpus()));
  if (least > 0) print_message(fmt::format("training goes on with {} processes where others are lost for good", least));
}

TrainingOutcome TrainingRun::run(Audience audience) const {
  const std::vector<Param> params = problem_.model.model.initial_params(recipe_.train.seed);
  Session session(*this, audience);
  TrainingOutcome outcome{{params, recipe_.optimizer}};
  if (options_.executors.kind == Executor::kReference) {
    outcome.result = train_by_reference(params, session);
  } else {
    train_on_executors(params, session, outcome);
  }
  outcome.seconds = session.seconds();
  outcome.end_of_first_step = session.end_of_first_step();
  outcome.epochs = static_cast<double>(outcome.result.batches) / static_cast<double>(loader_.size());
  outcome.executors = options_.executors.count;
  if (options_.executors.kind == Executor::kProcesses) outcome.processes = outcome.executors;
  outcome.params = outcome.result.final_params;
  if (session.validation() && outcome.result.steps > 0) {
    const Validation& validation = *session.validation();
    outcome.last_look = validation.last();
    outcome.best_look = validation.best();
    if (recipe_.train.keep_best) outcome.params = validation.best_params();
  }
  return outcome;
}

void TrainingRun::train_on_executors(const std::vector<Param>& params, Session& session,
                                     TrainingOutcome& outcome) const {
  distributed::TrainerOptions options;
  options.executors = options_.executors.count;
  options.step_timeout = options_.step_timeout;
  options.failed_batch_directory = options_.failed_batch_directory;
  options.recovery.min_processes = options_.executors.min_processes;
  if (options_.executors.kind == Executor::kProcesses) options.kind = distributed::ExecutorKind::kProcesses;
  constexpr std::int64_t kAttempts = 3;
  if (recipe_.train.on_exception == OnException::kRetry) options.attempts_per_batch = kAttempts;
  options.log = [&session](LogLevel level, std::string_view message) {
    session.note(fmt::format("{}{}", level == LogLevel::kWarning ? "warning: " : "", message));
  };
  distributed::Trainer trainer(config_, params, recipe_.optimizer, loader_, loss(), std::move(options));
  Interruption interruption;
  interruption.stops(&trainer);
  session.begin([&trainer] { return trainer.progress(); });
  // From one look at the validation data to the next.
  for (std::int64_t steps = 0; steps < planned_steps() && interrupted_by() == 0;) {
    const std::int64_t left = planned_steps() - steps;
    const std::int64_t end =
        steps + (session.validation() ? std::min(session.validation()->until_due(steps), left) : left);
    if (steps == 0) {
      steps += trainer.run(1);
      session.note_end_of_first_step();
    }
    if (steps < end && interrupted_by() == 0) steps += trainer.run(end - steps);
    if (!session.look(steps, trainer.params())) break;
  }
  outcome.result = session.finish(trainer.result());
  outcome.restarts = trainer.progress().restarts;
  outcome.retries = trainer.progress().retries;
  outcome.straggler = straggler_of(trainer.worker_seconds());
}

distributed::LossAndGrads TrainingRun::replay(const distributed::FailedBatch& failed) const {
  return distributed::replay(failed, loader_, plain_loss());
}

distributed::TrainResult TrainingRun::train_by_reference(const std::vector<Param>& params, Session& session) const {
  std::atomic<std::int64_t> steps = 0, samples = 0;
  std::atomic<double> loss_of_step = 0;
  session.begin([&] { return distributed::Progress{steps, samples, loss_of_step}; });
  const Interruption interruption;
  const auto after_step = [&](const distributed::TrainResult& so_far) {
    steps = so_far.steps;
    samples = so_far.samples;
    loss_of_step = so_far.last_loss;
    if (so_far.steps == 1) session.note_end_of_first_step();
    const bool due = session.validation() && session.validation()->due(so_far.steps);
    if (interrupted_by() != 0) return false;
    return (!due && so_far.steps < planned_steps()) || session.look(so_far.steps, so_far.final_params);
  };
  return session.finish(train_synchronous(config_, params, recipe_.optimizer, loader_, loss(), num_steps_, after_step));
}

}  // namespace viva::cli
