#include "viva/distributed/trainer.h"

#include <fmt/format.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "viva/base/cpu.h"
#include "viva/comm/barrier.h"
#include "viva/comm/canonical_tree.h"
#include "viva/distributed/canonical_sum.h"
#include "viva/distributed/executor.h"
#include "viva/distributed/failed_batch.h"
#include "viva/distributed/gradient_pass.h"
#include "viva/distributed/lateness.h"
#include "viva/distributed/process_team.h"
#include "viva/distributed/reduce_apply.h"
#include "viva/distributed/step_board.h"
#include "viva/optim/flat_state.h"
#include "viva/tensor/kernel_scope.h"

namespace viva::distributed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kMostExecutors = 1024;

std::int64_t checked_executors(std::int64_t executors, std::int64_t num_workers) {
  if (executors == 0) return std::min<std::int64_t>(available_cpus(), num_workers);
  if (executors < 1 || executors > kMostExecutors) {
    throw ConfigError({}, 0, "executors",
                      fmt::format("expected a number from 1 to {}, got {}", kMostExecutors, executors));
  }
  return executors;
}

void check_time(const char* key, std::chrono::duration<double> time) {
  constexpr std::chrono::seconds kLongest = std::chrono::hours(24 * 365);
  if (time.count() > 0 && time <= kLongest) return;
  throw ConfigError(
      {}, 0, key,
      fmt::format("expected a number of seconds > 0 and at most {}, got {}", kLongest.count(), time.count()));
}

std::int64_t nanoseconds(Clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

}  // namespace

// Note [Ownership]: the threads and the Trainer share the state. A thread that hangs in a callback cannot be ended;
// after its time-out it is left behind, and the buffers that it may still touch live as long as it does.
struct Trainer::Impl {
  Impl(const TrainConfig& config, std::span<const Param> params, const optim::Optimizer& optimizer,
       data::DataLoader loader, ComputeGrads compute_grads, const TrainerOptions& options);

  // The whole algorithm, run by every executor's thread: false where this run is over before its last step.
  bool step(std::int64_t id, std::int64_t number);
  // The owned range's part of the gradient into the parameters, in one pass, or in two where something must see the
  // whole gradient first.
  Verdict reduce_and_apply(std::size_t id, const StepFactors& factors);
  // The executors' partial sums, in the order of the plan.
  const std::vector<PartialView>& view_partials(std::size_t id);
  void make_threads();
  void make_processes();
  // What the first executor does for all between the barriers: count, and get the next step's batches ready.
  void publish(std::int64_t number, const StepDecision& decision);

  // Warnings, for the thread in run() to write to the log.
  void note_retries(std::int64_t number);
  void note(std::string line);
  std::string keep_failed_batch(std::int64_t step, std::int64_t worker, std::int64_t batch) const;

  void thread_main(std::int64_t id);
  std::int64_t run(std::int64_t num_steps);
  // The following with the lock held. Waits for the executors to end their run.
  void await_end(std::unique_lock<std::mutex>& lock);
  void write_notes(std::unique_lock<std::mutex>& lock);
  [[noreturn]] void throw_timeout(std::int64_t number, double seconds);

  const TrainerOptions options;
  ComputeTask task;
  optim::FlatState state;
  const comm::ReductionPlan plan;
  StepBoard board;
  comm::Barrier barrier;
  std::deque<Position> positions;  // of executors that are threads; as the following, they cannot move
  std::deque<Executor> threads;
  std::vector<BlockExecutor*> executors;
  std::deque<ReduceApply> appliers;
  std::deque<GradientPass> gradient_passes;        // none where a step takes one pass
  std::vector<std::vector<PartialView>> partials;  // by executor: its own list to fill

  // Steps that have been applied, and the sums over them: written by the first executor, read when none is running.
  std::int64_t steps = 0, batches = 0;  // those that were skipped included
  double total_loss = 0;
  std::vector<double> worker_seconds;
  bool stopping = false;             // whether this step is the run's last by request
  std::vector<std::size_t> updated;  // the first executor's: parameters that the step updates
  // The same for progress(), at any time.
  std::atomic<std::int64_t> progress_steps{0}, samples{0}, skipped{0}, restarts{0}, retries{0};
  std::atomic<bool> stop_requested{false};
  static_assert(std::atomic<bool>::is_always_lock_free);
  std::atomic<double> last_loss{0};
  std::atomic<std::int64_t> step_began{0};  // nanoseconds of Clock

  std::mutex mutex;  // guards the following
  std::condition_variable command_changed, run_ended;
  std::int64_t runs = 0;     // commands given
  std::int64_t run_end = 0;  // the step at which the current run ends
  std::int64_t running = 0;  // executors that have not ended the current run
  bool closing = false;
  std::string unusable;  // why no further run is possible
  struct Note {
    LogLevel level;
    std::string line;
  };
  std::vector<Note> notes;  // for the log, which the caller of run() writes

  // Where executors are processes. The last to be made, for that copies all of the above, and the first to go.
  std::optional<ProcessTeam> team;
};

Trainer::Impl::Impl(const TrainConfig& given_config, std::span<const Param> params, const optim::Optimizer& optimizer,
                    data::DataLoader loader, ComputeGrads compute_grads, const TrainerOptions& given_options)
    : options(given_options),
      task{checked(given_config),
           StepSchedule(checked(given_config), loader.size()),
           BatchStream(loader, checked(given_config).batches_per_step),
           std::move(compute_grads),
           std::max<std::int64_t>(1, options.attempts_per_batch),
           {}},
      state(optimizer, params, options.kind == ExecutorKind::kProcesses ? Memory::kShared : Memory::kPrivate),
      plan(task.config.num_workers, checked_executors(options.executors, task.config.num_workers)),
      board(static_cast<std::size_t>(task.config.batches_per_step), params.size(), plan.blocks().size(),
            pieces_of(state.layout()).size()),
      barrier(static_cast<std::int64_t>(plan.blocks().size()),
              static_cast<int>(plan.blocks().size()) <= available_cpus()) {
  check_time("step_timeout", options.step_timeout);
  check_time("waiting_notice", options.waiting_notice);
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (task.config.non_finite != NonFinite::kIgnore && !state.frozen(i)) task.guarded.push_back(i);
  }
  const bool two_passes = task.config.non_finite != NonFinite::kIgnore || task.config.clipping.any();
  const Tensor gradient = two_passes ? state.layout().make_buffer() : Tensor();
  const auto count = static_cast<std::int64_t>(plan.blocks().size());
  for (std::int64_t id = 0; id < count; ++id) {
    const optim::Range owned = state.layout().part(id, count);
    appliers.emplace_back(plan, state.layout(), owned);
    if (two_passes) {
      gradient_passes.emplace_back(task.config, plan, state.layout(), owned, static_cast<std::size_t>(id), gradient);
    }
  }
  updated.reserve(params.size());
  worker_seconds.resize(static_cast<std::size_t>(task.config.num_workers));
  partials.assign(plan.blocks().size(), std::vector<PartialView>(plan.partials().size()));
  if (options.log && count > available_cpus()) {
    options.log(LogLevel::kWarning, fmt::format("{} executors share {} CPU{}: more than one each is slower, not wrong",
                                                count, available_cpus(), available_cpus() == 1 ? "" : "s"));
  }
  options.kind == ExecutorKind::kProcesses ? make_processes() : make_threads();
}

void Trainer::Impl::make_threads() {
  for (std::size_t id = 0; id < plan.blocks().size(); ++id) {
    const auto& block = plan.blocks()[id];
    executors.push_back(&threads.emplace_back(task, state.layout(), state.params(), static_cast<std::int64_t>(id),
                                              block, make_slots(state.layout(), block), positions.emplace_back()));
  }
}

void Trainer::Impl::make_processes() {
  team.emplace(task, state, plan,
               Supervision{.limits = options.recovery,
                           .step_timeout = options.step_timeout,
                           .on_restart =
                               [this] {
                                 restarts.fetch_add(1, std::memory_order_relaxed);
                                 step_began.store(nanoseconds(Clock::now()), std::memory_order_relaxed);
                               },
                           .note = [this](std::string line) { note(std::move(line)); },
                           .keep = [this](auto... place) { return keep_failed_batch(place...); }});
  for (const auto& executor : team->executors()) executors.push_back(executor.get());
}

bool Trainer::Impl::step(std::int64_t id, std::int64_t number) {
  BlockExecutor& me = *executors[static_cast<std::size_t>(id)];
  Position& position = me.position();
  if (id == 0) step_began.store(nanoseconds(Clock::now()), std::memory_order_relaxed);

  // Compute: parameters are shared and read-only; gradients go into this executor's partial sums. A process that dies
  // over it is replaced here, and the others learn nothing of it.
  position.phase.store(Position::kComputing, std::memory_order_relaxed);
  me.compute(number, board);
  position.phase.store(Position::kWaiting, std::memory_order_relaxed);
  if (!barrier.arrive_and_wait()) return false;

  // Decide: every executor draws the same conclusion from the board.
  StepDecision decision = decide(board, task.schedule.batches_in(number));
  if (decision.verdict == Verdict::kFail) return false;

  // Reduce and apply: over the owned range, in the canonical order. What has been reduced may still be refused.
  position.phase.store(Position::kApplying, std::memory_order_relaxed);
  const StepFactors factors{
      .gradient = aggregation_scale(task.config.aggregation, task.config.num_workers, decision.samples),
      .statistic = statistic_scale(task.config.aggregation, task.schedule.batches_in(number), decision.samples),
      .lr = task.config.schedule.factor(number),
      .buffer_momentum = task.config.buffer_momentum,
  };
  if (decision.verdict == Verdict::kApply) {
    decision.verdict = reduce_and_apply(static_cast<std::size_t>(id), factors);
  }
  if (decision.verdict == Verdict::kFail) return false;
  if (id == 0) publish(number, decision);
  position.phase.store(Position::kWaiting, std::memory_order_relaxed);
  if (!barrier.arrive_and_wait()) return false;

  // Published. Nobody reads the counts of updates before the next step's first barrier; the board is no longer ours.
  if (id == 0) {
    for (const std::size_t entry : updated) state.count_update(entry);
  }
  return !stopping;
}

Verdict Trainer::Impl::reduce_and_apply(std::size_t id, const StepFactors& factors) {
  if (gradient_passes.empty()) {
    appliers[id].run(state, view_partials(id), board.given, factors);
    return Verdict::kApply;
  }
  // Reduce into a buffer that all can see; then the same conclusion from the same board once more.
  gradient_passes[id].reduce(state, view_partials(id), factors, board);
  if (!barrier.arrive_and_wait()) return Verdict::kFail;
  const SumDecision decision = decide_sum(board, task.config);
  if (decision.verdict == Verdict::kApply) gradient_passes[id].apply(state, board.given, factors, decision.clip);
  return decision.verdict;
}

const std::vector<PartialView>& Trainer::Impl::view_partials(std::size_t id) {
  std::vector<PartialView>& views = partials[id];
  for (BlockExecutor* executor : executors) {
    const comm::ReductionPlan::Block& block = executor->block();
    for (std::size_t slot = 0; slot < block.num_partials; ++slot) {
      views[block.first_partial + slot] = executor->partial(slot);
    }
  }
  return views;
}

void Trainer::Impl::publish(std::int64_t number, const StepDecision& decision) {
  steps = number + 1;
  batches += task.schedule.batches_in(number);
  updated.clear();
  if (decision.verdict == Verdict::kSkip) {
    skipped.fetch_add(1, std::memory_order_relaxed);
  } else {
    total_loss += decision.loss;
    last_loss.store(decision.loss, std::memory_order_relaxed);
    for (std::size_t i = 0; i < state.layout().entries().size(); ++i) {
      if (board.given.gave(i) && !state.frozen(i) && !state.is_buffer(i)) updated.push_back(i);
    }
  }
  for (std::size_t j = 0; j < static_cast<std::size_t>(task.schedule.batches_in(number)); ++j) {
    worker_seconds[j % worker_seconds.size()] += board.seconds[j];
  }
  note_retries(number);
  stopping = decision.stop || stop_requested.load(std::memory_order_relaxed);
  samples.fetch_add(decision.samples, std::memory_order_relaxed);
  progress_steps.store(steps, std::memory_order_relaxed);
  const std::int64_t begin = task.schedule.first_batch(steps);
  task.stream.prepare(begin, begin + task.schedule.batches_in(steps));
}

void Trainer::Impl::note_retries(std::int64_t number) {
  for (const auto& failure : board.retried) {
    if (!failure) continue;
    retries.fetch_add(1, std::memory_order_relaxed);
    note(fmt::format("step {}: worker {} failed in batch {}, which was computed again: {}", number, failure->worker,
                     failure->batch, failure->cause));
  }
}

void Trainer::Impl::note(std::string line) {
  const std::lock_guard lock(mutex);
  notes.push_back({LogLevel::kWarning, std::move(line)});
  run_ended.notify_all();
}

// Called while a step computes, when nobody writes the parameters.
std::string Trainer::Impl::keep_failed_batch(std::int64_t step, std::int64_t worker, std::int64_t batch) const {
  if (options.failed_batch_directory.empty()) return {};
  const auto indices = task.stream.indices(batch);
  return distributed::keep_failed_batch(options.failed_batch_directory,
                                        {step, worker, batch, {indices.begin(), indices.end()}, state.copy_params()});
}

void Trainer::Impl::thread_main(std::int64_t id) {
  const KernelScope scope;
  for (std::int64_t seen = 0;;) {
    std::int64_t number = 0, end = 0;
    {
      std::unique_lock lock(mutex);
      command_changed.wait(lock, [&] { return closing || runs != seen; });
      if (closing) return;
      seen = runs;
      number = steps;
      end = run_end;
    }
    while (number < end && step(id, number)) ++number;
    executors[static_cast<std::size_t>(id)]->position().phase.store(Position::kIdle, std::memory_order_relaxed);
    {
      const std::lock_guard lock(mutex);
      if (--running == 0) run_ended.notify_all();
    }
  }
}

std::int64_t Trainer::Impl::run(std::int64_t num_steps) {
  std::unique_lock lock(mutex);
  if (!unusable.empty()) throw Error(fmt::format("this Trainer cannot go on: {}", unusable));
  const std::int64_t begin = steps;
  const std::int64_t end = task.schedule.last_step(begin, num_steps);
  while (steps < end) {
    const std::int64_t first = task.schedule.first_batch(steps);
    task.stream.prepare(first, first + task.schedule.batches_in(steps));
    step_began.store(nanoseconds(Clock::now()), std::memory_order_relaxed);
    run_end = end;
    running = std::ssize(executors);
    ++runs;
    command_changed.notify_all();
    await_end(lock);
    if (std::exchange(stopping, false)) {
      stop_requested.store(false, std::memory_order_relaxed);
      break;
    }
    if (steps == end) break;
    lock.unlock();
    if (!team || !team->close_ranks(board, steps)) {
      throw_cause(board, steps, task.config.num_workers, task.schedule.batches_in(steps), state.layout());
    }
    lock.lock();
  }
  write_notes(lock);
  return steps - begin;
}

void Trainer::Impl::await_end(std::unique_lock<std::mutex>& lock) {
  // An executor with a process looks after the time limit itself, and has to kill and start processes then.
  constexpr std::chrono::seconds kSupervision(90);
  const auto limit = std::chrono::duration_cast<Clock::duration>(options.step_timeout) +
                     (team ? Clock::duration(kSupervision) : Clock::duration(0));
  const auto patience = std::chrono::duration_cast<Clock::duration>(options.waiting_notice);
  const auto time_began = [this] {
    return Clock::time_point(std::chrono::nanoseconds(step_began.load(std::memory_order_relaxed)));
  };
  Clock::time_point began, notice;
  while (running > 0) {
    write_notes(lock);
    if (running == 0) break;
    const std::int64_t number = progress_steps.load(std::memory_order_relaxed);
    if (began != time_began()) {
      began = time_began();
      notice = began + patience;
    }
    run_ended.wait_until(lock, std::min(began + limit, notice));
    const Clock::time_point now = Clock::now();
    if (running == 0 || began != time_began() || now < std::min(began + limit, notice)) continue;
    const double seconds = std::chrono::duration<double>(now - began).count();
    if (now >= began + limit) throw_timeout(number, seconds);
    notes.push_back({LogLevel::kInfo,
                     fmt::format("step {}: waiting for {}, {:.1f} s", number, Lateness(executors).who(), seconds)});
    notice += patience;
  }
  write_notes(lock);
}

// The sink is the host's code and is called without the lock.
void Trainer::Impl::write_notes(std::unique_lock<std::mutex>& lock) {
  while (!notes.empty()) {
    const std::vector<Note> taken = std::exchange(notes, {});
    lock.unlock();
    for (const auto& [level, line] : taken) {
      if (options.log) options.log(level, line);
    }
    lock.lock();
  }
}

void Trainer::Impl::throw_timeout(std::int64_t number, double seconds) {
  const Lateness lateness(executors);
  const std::string message =
      fmt::format("step {}: no end after {:.1f} s (limit {:.1f} s); still computing: {}; workers that arrived: {}",
                  number, seconds, options.step_timeout.count(), lateness.who(), lateness.arrived());
  unusable = message;
  closing = true;
  barrier.abandon();
  command_changed.notify_all();
  throw WorkerTimeout(lateness.worker(), lateness.batch(), seconds, message);
}

Trainer::Trainer(const TrainConfig& config, std::span<const Param> params, const optim::Optimizer& optimizer,
                 data::DataLoader loader, ComputeGrads compute_grads, TrainerOptions options)
    : impl_(std::make_shared<Impl>(config, params, optimizer, std::move(loader), std::move(compute_grads),
                                   std::move(options))) {}

void Trainer::start_threads() {
  if (!threads_.empty()) return;
  if (impl_->team) impl_->team->watch();
  try {
    for (std::size_t id = 0; id < impl_->executors.size(); ++id) {
      threads_.emplace_back([impl = impl_, id] { impl->thread_main(static_cast<std::int64_t>(id)); });
    }
  } catch (...) {
    impl_->unusable = "its threads could not be started";
    close();
    throw;
  }
}

Trainer::~Trainer() { close(); }

void Trainer::close() {
  bool left_behind = false;
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->closing = true;
    left_behind = !impl_->unusable.empty();
    impl_->command_changed.notify_all();
  }
  for (std::thread& thread : threads_) left_behind ? thread.detach() : thread.join();
  threads_.clear();
}

std::int64_t Trainer::run(std::int64_t num_steps) {
  start_threads();
  return impl_->run(num_steps);
}

TrainResult Trainer::result() const {
  return {impl_->state.copy_params(),
          impl_->state.optimizer(),
          impl_->total_loss,
          impl_->last_loss.load(std::memory_order_relaxed),
          impl_->steps,
          impl_->batches,
          impl_->samples.load(std::memory_order_relaxed),
          impl_->skipped.load(std::memory_order_relaxed)};
}

std::span<const Param> Trainer::params() const { return impl_->state.params(); }

Progress Trainer::progress() const {
  return {impl_->progress_steps.load(std::memory_order_relaxed), impl_->samples.load(std::memory_order_relaxed),
          impl_->last_loss.load(std::memory_order_relaxed),      impl_->skipped.load(std::memory_order_relaxed),
          impl_->restarts.load(std::memory_order_relaxed),       impl_->retries.load(std::memory_order_relaxed)};
}

void Trainer::request_stop() { impl_->stop_requested.store(true, std::memory_order_relaxed); }

std::span<const double> Trainer::worker_seconds() const { return impl_->worker_seconds; }

std::int64_t Trainer::executors() const { return static_cast<std::int64_t>(impl_->executors.size()); }

}  // namespace viva::distributed
