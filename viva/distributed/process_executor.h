// ProcessExecutor: a block of workers in a process of its own, which is replaced when it dies or takes too long.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "viva/distributed/process_pool.h"
#include "viva/distributed/recovery.h"
#include "viva/distributed/worker_region.h"

namespace viva::distributed {

// What the executors of one Trainer share; all of it outlives them.
struct Supervision {
  ProcessPool& pool;
  RecoveryLimits limits;
  std::chrono::duration<double> step_timeout;  // of one attempt at a step
  std::function<void()> on_restart;            // called before a process is replaced
  std::function<void(std::string)> note;       // takes a line that says what was recovered from
};

// The coordinator's thread waits here while the process computes. What was computed by a process that did not live to
// answer is scratch: its replacement computes the whole block again, from the same parameters.
class ProcessExecutor final : public BlockExecutor {
 public:
  ProcessExecutor(const ComputeTask& task, std::int64_t id, const comm::ReductionPlan::Block& block,
                  const WorkerRegion& region, const Supervision& supervision);

  // Leaves on the board, besides what an executor does: WorkerDied and WorkerTimeout where the limits are reached,
  // CommError where no process can be started.
  void compute(std::int64_t step, StepBoard& board) override;
  PartialView partial(std::size_t slot) const override { return {&region_.slots()[slot], region_.weight(slot)}; }
  Position& position() override { return region_.channel().position; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Place {
    std::int64_t worker = 0, batch = 0;
  };
  struct Death {
    pid_t pid = 0;
    ProcessEnd end;
    double hung = 0;  // seconds after which it was killed; 0: it ended by itself
    Place at;
  };
  struct Recovery {  // within one step
    std::int64_t deaths = 0, in_batch = 0;
    Death last;
    Clock::time_point began;
  };

  std::int64_t first_batch(std::int64_t step) const;
  Place place(std::int64_t step) const;
  void ask(std::int64_t step, const Recovery& recovery);
  // Nothing where the answer has come.
  std::optional<Death> await_answer(std::int64_t step);
  // Throws where the batch has brought one death too many.
  void bear(const Death& death, std::int64_t step, Recovery& recovery);
  [[noreturn]] void throw_too_many(const Death& death, std::int64_t step) const;
  [[noreturn]] void throw_death(const Death& death, std::int64_t step, const std::string& why) const;
  std::string in_words(const Recovery& recovery, std::int64_t step) const;
  std::string samples_of(std::int64_t batch) const;

  const ComputeTask& task_;
  const std::int64_t id_;
  const WorkerRegion& region_;
  const Supervision& supervision_;
  RestartCount restarts_;
  bool started_ = false;  // ever
};

}  // namespace viva::distributed
