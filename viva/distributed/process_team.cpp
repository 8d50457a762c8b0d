#include "viva/distributed/process_team.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "viva/distributed/worker_process.h"

namespace viva::distributed {

ProcessTeam::ProcessTeam(ComputeTask& task, const optim::FlatState& state, const comm::ReductionPlan& plan,
                         Supervision supervision)
    : supervision_(std::move(supervision)) {
  for (const auto& block : plan.blocks()) regions_.emplace_back(task.config, state.layout(), block);
  const auto work = [&, this](std::int64_t id, pid_t parent) { serve_steps(task, state, plan, regions_, id, parent); };
  const auto notify = [this](std::int64_t id) {
    regions_[static_cast<std::size_t>(id)].channel().to_coordinator.ring();
  };
  pool_ = std::make_unique<ProcessPool>(std::ssize(plan.blocks()), work, notify);
  for (std::size_t id = 0; id < plan.blocks().size(); ++id) {
    executors_.push_back(std::make_unique<ProcessExecutor>(task, plan, id, regions_, *pool_, supervision_));
  }
}

bool ProcessTeam::close_ranks(const StepBoard& board, std::int64_t step) {
  std::vector<ProcessExecutor*> lost, left;
  for (const auto& executor : executors_) {
    if (executor->lost()) {
      lost.push_back(executor.get());
    } else if (board.failures[executor->id()]) {
      return false;
    } else if (!executor->blocks().empty()) {
      left.push_back(executor.get());
    }
  }
  const std::int64_t least = supervision_.limits.min_processes;
  if (lost.empty() || least < 1 || std::ssize(left) < least) return false;
  for (ProcessExecutor* executor : lost) {
    ProcessExecutor* const heir =
        *std::ranges::min_element(left, {}, [](const ProcessExecutor* e) { return e->blocks().size(); });
    supervision_.note(fmt::format("step {}: executor {} is lost for good; executor {} takes over its workers", step,
                                  executor->id(), heir->id()));
    heir->take_over(*executor);
  }
  return true;
}

}  // namespace viva::distributed
