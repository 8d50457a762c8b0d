// What a worker process does all its life.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>

#include "viva/distributed/worker_region.h"
#include "viva/optim/flat_state.h"

namespace viva::distributed {

// Answers the commands in the region `id`, one after the other, until its parent is no longer `parent`. From here on
// this process can only read the parameters, and write no regions but its own and those of blocks that it is told to
// take over. The task is the process's own copy.
void serve_steps(ComputeTask& task, const optim::FlatState& state, const comm::ReductionPlan& plan,
                 std::deque<WorkerRegion>& regions, std::int64_t id, pid_t parent);

}  // namespace viva::distributed
