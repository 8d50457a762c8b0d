#include "viva/distributed/process_executor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <system_error>
#include <utility>

#include "viva/base/error.h"

namespace viva::distributed {

ProcessExecutor::ProcessExecutor(const ComputeTask& task, const comm::ReductionPlan& plan, std::size_t id,
                                 const std::deque<WorkerRegion>& regions, ProcessPool& pool,
                                 const Supervision& supervision)
    : BlockExecutor(plan.blocks()[id]),
      task_(task),
      plan_(plan),
      id_(id),
      regions_(regions),
      pool_(pool),
      supervision_(supervision),
      restarts_(supervision.limits) {
  if (block().slots > 0) blocks_.push_back(id);
}

void ProcessExecutor::take_over(ProcessExecutor& lost) {
  blocks_.insert(blocks_.end(), lost.blocks_.begin(), lost.blocks_.end());
  lost.blocks_.clear();
  lost.lost_ = false;
}

void ProcessExecutor::compute(std::int64_t step, StepBoard& board) {
  lost_ = false;
  for (const std::size_t block : blocks_) compute_part({step, block}, board);
}

void ProcessExecutor::compute_part(Part part, StepBoard& board) {
  try {
    Recovery recovery;
    for (;;) {
      ask(part, recovery);
      const std::optional<Death> death = await_answer(part);
      if (!death) break;
      bear(*death, part.step, recovery);
    }
    if (recovery.deaths > 0) supervision_.note(in_words(recovery, part));
    regions_[part.block].load(board, static_cast<std::int64_t>(part.block), task_.schedule.batches_in(part.step));
  } catch (...) {
    const Place at = place(part);
    board.failures[part.block] = BatchFailure{at.worker, at.batch, {}, {}, std::current_exception()};
    board.retried[part.block].reset();
  }
}

// The block's first batch in the step, or the step's last one where the block has none.
std::int64_t ProcessExecutor::first_batch(Part part) const {
  return task_.schedule.first_batch(part.step) + std::min(workers(part).lo, task_.schedule.batches_in(part.step) - 1);
}

// Where the process stands or fell. It may have died of writing anything anywhere, so its word is checked.
ProcessExecutor::Place ProcessExecutor::place(Part part) const {
  const Position& at = regions_[part.block].channel().position;
  const Place said{at.worker.load(std::memory_order_relaxed), at.batch.load(std::memory_order_relaxed)};
  const std::int64_t begin = task_.schedule.first_batch(part.step), end = begin + task_.schedule.batches_in(part.step);
  const bool credible =
      said.batch >= begin && said.batch < end && said.worker >= workers(part).lo && said.worker < workers(part).hi;
  return credible ? said : Place{workers(part).lo, first_batch(part)};
}

// Gives the process a step to compute; where there is none, one is started and finds it.
void ProcessExecutor::ask(Part part, const Recovery& recovery) {
  channel().step = part.step;
  channel().block = static_cast<std::int64_t>(part.block);
  // Where a process dies before it comes to a batch, its first one has to answer for it.
  Position& position = regions_[part.block].channel().position;
  position.worker.store(workers(part).lo, std::memory_order_relaxed);
  position.batch.store(first_batch(part), std::memory_order_relaxed);
  channel().asked.fetch_add(1, std::memory_order_acq_rel);
  const ProcessPool::Status status = pool_.status(static_cast<std::int64_t>(id_));
  if (status.running) return channel().to_worker.ring();
  if (started_) {
    if (!restarts_.admit(Clock::now()))
      throw_too_many(recovery.deaths > 0 ? recovery.last : Death{status.pid, status.end, 0, place(part)}, part.step);
    if (recovery.deaths == 0) {
      supervision_.note(fmt::format("step {}: executor {} (pid {}) had ended by {} before the step; replaced",
                                    part.step, id_, status.pid, to_string(status.end)));
    }
    supervision_.on_restart();
  }
  started_ = true;
  pool_.start(static_cast<std::int64_t>(id_));
}

std::optional<ProcessExecutor::Death> ProcessExecutor::await_answer(Part part) {
  constexpr std::chrono::seconds kEndOfKilled(30);
  const std::uint32_t asked = channel().asked.load(std::memory_order_relaxed);
  const Clock::time_point began = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - began).count(); };
  Clock::time_point deadline = began + std::chrono::duration_cast<Clock::duration>(supervision_.step_timeout);
  double hung = 0;
  for (;;) {
    const std::uint32_t rings = channel().to_coordinator.rings();
    // An answer that comes after the time limit is not taken: the process is as good as dead.
    if (hung == 0 && channel().answered.load(std::memory_order_acquire) == asked) return std::nullopt;
    const ProcessPool::Status status = pool_.status(static_cast<std::int64_t>(id_));
    if (status.error != 0) {
      lost_ = true;
      throw CommError(fmt::format("cannot start a worker process: {}", std::generic_category().message(status.error)));
    }
    if (!status.running) return Death{status.pid, status.end, hung, place(part)};
    if (channel().to_coordinator.wait(rings, deadline)) continue;
    if (hung > 0) {
      throw CommError(
          fmt::format("worker process {} is still there {} s after SIGKILL", status.pid, kEndOfKilled.count()));
    }
    hung = seconds();
    pool_.kill(static_cast<std::int64_t>(id_));
    deadline = Clock::now() + kEndOfKilled;
  }
}

void ProcessExecutor::bear(const Death& death, std::int64_t step, Recovery& recovery) {
  if (recovery.deaths++ == 0) recovery.began = Clock::now();
  recovery.in_batch = recovery.in_batch > 0 && recovery.last.at.batch == death.at.batch ? recovery.in_batch + 1 : 1;
  recovery.last = death;
  if (recovery.in_batch < supervision_.limits.deaths_per_batch) return;
  const std::string kept = supervision_.keep(step, death.at.worker, death.at.batch);
  throw_death(death, step,
              fmt::format("that was worker process number {} that the batch ended in this step{}{}", recovery.in_batch,
                          kept.empty() ? "" : "; ", kept));
}

void ProcessExecutor::throw_too_many(const Death& death, std::int64_t step) {
  lost_ = true;
  throw_death(death, step,
              fmt::format("the process was to be replaced for more than the {}th time within {} s",
                          supervision_.limits.restarts, supervision_.limits.window.count()));
}

void ProcessExecutor::throw_death(const Death& death, std::int64_t step, const std::string& why) const {
  const auto& [worker, batch] = death.at;
  const std::string where = fmt::format("step {}, {}; {}", step, samples_of(batch), why);
  if (death.hung == 0) throw WorkerDied(worker, batch, death.end.exit_code, death.end.signal, where);
  throw WorkerTimeout(worker, batch, death.hung,
                      fmt::format("worker {} in batch {} took more than {} s and was killed: {}", worker, batch,
                                  supervision_.step_timeout.count(), where));
}

std::string ProcessExecutor::in_words(const Recovery& recovery, Part part) const {
  const Death& last = recovery.last;
  return fmt::format(
      "step {}: executor {} (pid {}) {} in batch {} of worker {}{}; replaced, and its workers {} to {} computed again "
      "within {:.3f} s",
      part.step, id_, last.pid,
      last.hung > 0 ? fmt::format("gave no answer for {:.1f} s and was killed", last.hung)
                    : "ended by " + to_string(last.end),
      last.at.batch, last.at.worker,
      recovery.deaths > 1 ? fmt::format(", the {}th death in this step", recovery.deaths) : "", workers(part).lo,
      workers(part).hi - 1, std::chrono::duration<double>(Clock::now() - recovery.began).count());
}

std::string ProcessExecutor::samples_of(std::int64_t batch) const {
  constexpr std::size_t kMost = 64;
  const auto samples = task_.stream.indices(batch);
  return fmt::format("samples {}{}", fmt::join(samples.first(std::min(kMost, samples.size())), ", "),
                     samples.size() > kMost ? fmt::format(", … ({} in all)", samples.size()) : "");
}

}  // namespace viva::distributed
