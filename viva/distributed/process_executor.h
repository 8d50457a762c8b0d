// ProcessExecutor: a block of workers in a process of its own, which is replaced when it dies or takes too long.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "viva/distributed/process_pool.h"
#include "viva/distributed/recovery.h"
#include "viva/distributed/worker_region.h"

namespace viva::distributed {

// What the executors of one Trainer share.
struct Supervision {
  RecoveryLimits limits;
  std::chrono::duration<double> step_timeout;  // of one attempt at a step
  std::function<void()> on_restart;            // called before a process is replaced
  std::function<void(std::string)> note;       // takes a line that says what was recovered from
  // Keeps a batch that ends training for a replay, and returns what there is to say about that, if anything.
  std::function<std::string(std::int64_t step, std::int64_t worker, std::int64_t batch)> keep;
};

// The coordinator's thread waits here while the process computes. What was computed by a process that did not live to
// answer is scratch: its replacement computes the whole block again, from the same parameters.
class ProcessExecutor final : public BlockExecutor {
 public:
  // Executor `id` of the plan. All that is referred to outlives the executor.
  ProcessExecutor(const ComputeTask& task, const comm::ReductionPlan& plan, std::size_t id,
                  const std::deque<WorkerRegion>& regions, ProcessPool& pool, const Supervision& supervision);

  // Leaves on the board, besides what an executor does: WorkerDied and WorkerTimeout where the limits are reached,
  // CommError where no process can be started.
  void compute(std::int64_t step, StepBoard& board) override;
  PartialView partial(std::size_t slot) const override {
    return {&regions_[id_].slots()[slot], regions_[id_].weight(slot)};
  }
  Position& position() override { return channel().position; }

  std::size_t id() const { return id_; }
  // The numbers of the blocks that this executor computes: at first its own.
  const std::vector<std::size_t>& blocks() const { return blocks_; }
  // Whether the last compute() ended because there can be no further process.
  bool lost() const { return lost_; }
  // Computes, from the next step on, the blocks of one that is lost.
  void take_over(ProcessExecutor& lost);

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

  // A block of a step.
  struct Part {
    std::int64_t step = 0;
    std::size_t block = 0;
  };

  void compute_part(Part part, StepBoard& board);
  WorkerChannel& channel() const { return regions_[id_].channel(); }
  const comm::TreeNode& workers(Part part) const { return plan_.blocks()[part.block].workers; }
  std::int64_t first_batch(Part part) const;
  Place place(Part part) const;
  void ask(Part part, const Recovery& recovery);
  // Nothing where the answer has come.
  std::optional<Death> await_answer(Part part);
  // Throws where the batch has brought one death too many.
  void bear(const Death& death, std::int64_t step, Recovery& recovery);
  [[noreturn]] void throw_too_many(const Death& death, std::int64_t step);
  [[noreturn]] void throw_death(const Death& death, std::int64_t step, const std::string& why) const;
  std::string in_words(const Recovery& recovery, Part part) const;
  std::string samples_of(std::int64_t batch) const;

  const ComputeTask& task_;
  const comm::ReductionPlan& plan_;
  const std::size_t id_;
  const std::deque<WorkerRegion>& regions_;
  ProcessPool& pool_;
  const Supervision& supervision_;
  RestartCount restarts_;
  std::vector<std::size_t> blocks_;
  bool lost_ = false;
  bool started_ = false;  // ever
};

}  // namespace viva::distributed
