// WorkerRegion: the shared memory of one executor in a process of its own: doorbells, the step's results, partial sums.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "viva/comm/doorbell.h"
#include "viva/distributed/executor.h"

namespace viva::distributed {

// How the coordinator and a worker process talk. A command is the number of a step; each has a number of its own, which
// the worker gives back when what it computed is there. A replacement finds a command without an answer and begins.
struct WorkerChannel {
  comm::Doorbell to_worker, to_coordinator;
  std::atomic<std::uint32_t> asked{0};     // the last command, by the coordinator
  std::atomic<std::uint32_t> answered{0};  // the last one that is done, by the worker
  // Of the command: which step, and the number of the block; a process has the block of its own number, and takes over
  // those of processes that were lost.
  std::int64_t step = 0, block = 0;
  Position position;
};

// Whole pages, mapped before the fork, so that the coordinator and the worker have them at the same place. Besides the
// coordinator only the process that computes the block may write them; nothing in them is a pointer.
class WorkerRegion {
 public:
  WorkerRegion(const TrainConfig& config, const optim::Layout& layout, const comm::ReductionPlan::Block& block);

  WorkerChannel& channel() const { return *channel_; }
  // The block's partial sums.
  const std::vector<Tensor>& slots() const { return slots_; }
  double weight(std::size_t slot) const { return weights_[slot]; }

  // In the worker: keeps what `executor` left on its board about its batches among the step's `batches`.
  void store(const StepBoard& board, std::int64_t id, const Executor& executor, std::int64_t batches);
  // In the coordinator: puts that onto the board of all.
  void load(StepBoard& board, std::int64_t id, std::int64_t batches) const;

  // What the calling process may do with the region from now on.
  void set_access(Access access) const;

 private:
  struct Report;
  struct FailureReport;
  template <typename F>
  void for_each_batch(std::int64_t batches, F visit) const;

  comm::TreeNode workers_;
  std::int64_t num_workers_;
  std::size_t num_params_;
  std::size_t num_partials_;
  std::size_t size_ = 0;
  SharedBytes memory_;
  WorkerChannel* channel_ = nullptr;
  Report* report_ = nullptr;
  double *losses_ = nullptr, *seconds_ = nullptr;  // by batch of the step, as the next
  std::int64_t* lengths_ = nullptr;
  char* given_ = nullptr;      // (batches, params)
  double* weights_ = nullptr;  // by partial sum
  std::vector<Tensor> slots_;
};

}  // namespace viva::distributed
