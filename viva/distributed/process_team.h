// ProcessTeam: the executors of a Trainer that are processes, and the memory that they share with it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "viva/distributed/process_executor.h"
#include "viva/distributed/process_pool.h"
#include "viva/distributed/worker_region.h"
#include "viva/optim/flat_state.h"

namespace viva::distributed {

// Note [Fork]: the constructor forks the zygote, which has everything that is referred to at the same addresses. From
// then on only the parameters, which have to lie in shared memory, and the regions are one memory; what else changes
// here, the workers do not see.
class ProcessTeam {
 public:
  // All of it outlives the team. Errors as ProcessPool's.
  ProcessTeam(ComputeTask& task, const optim::FlatState& state, const comm::ReductionPlan& plan,
              Supervision supervision);

  // One for each block of the plan, owned by the team; ended with it, as their processes.
  const std::vector<std::unique_ptr<ProcessExecutor>>& executors() const { return executors_; }

  // Starts the thread that supervises; no fork in this process may come after it.
  void watch() { pool_->watch(); }

  // After a step that was not applied, between runs: where nothing is wrong but processes lost for good, and enough are
  // left, these take over the others' workers, and the step can be made again. False where it ends training.
  bool close_ranks(const StepBoard& board, std::int64_t step);

 private:
  Supervision supervision_;
  std::deque<WorkerRegion> regions_;
  std::vector<std::unique_ptr<ProcessExecutor>> executors_;
  std::unique_ptr<ProcessPool> pool_;  // the first to go
};

}  // namespace viva::distributed
