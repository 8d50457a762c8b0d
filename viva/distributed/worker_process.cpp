#include "viva/distributed/worker_process.h"

#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "viva/tensor/kernel_scope.h"

namespace viva::distributed {
namespace {

// Keeps what is not this worker's from being written by a stray pointer of the callback.
void protect(const optim::FlatState& state, const std::deque<WorkerRegion>& regions, std::size_t own) {
  const auto values = state.values().mutable_bytes();
  set_access(values.data(), values.size(), Access::kRead);
  for (std::size_t i = 0; i < regions.size(); ++i) {
    if (i != own) regions[i].set_access(Access::kNone);
  }
}

// The number of the next command; none where the parent has gone.
std::optional<std::uint32_t> next_command(const WorkerChannel& channel, pid_t parent) {
  // The kernel ends this process with its parent; looking once in a while is for systems that do not.
  constexpr std::chrono::seconds kLook(1);
  for (;;) {
    const std::uint32_t rings = channel.to_worker.rings();
    const std::uint32_t asked = channel.asked.load(std::memory_order_acquire);
    if (asked != channel.answered.load(std::memory_order_relaxed)) return asked;
    const bool rang = channel.to_worker.wait(rings, comm::Doorbell::Clock::now() + kLook);
    if (!rang && ::getppid() != parent) return std::nullopt;
  }
}

}  // namespace

void serve_steps(ComputeTask& task, const optim::FlatState& state, const comm::ReductionPlan& plan,
                 std::deque<WorkerRegion>& regions, std::int64_t id, pid_t parent) {
  const KernelScope scope;
  const auto own = static_cast<std::size_t>(id);
  protect(state, regions, own);
  WorkerChannel& channel = regions[own].channel();
  StepBoard board(static_cast<std::size_t>(task.config.batches_per_step), state.layout().entries().size(),
                  regions.size(), 0);
  std::vector<std::unique_ptr<Executor>> executors(regions.size());  // by block
  while (const auto command = next_command(channel, parent)) {
    const auto block = static_cast<std::size_t>(channel.block);
    WorkerRegion& region = regions[block];
    if (!executors[block]) {
      region.set_access(Access::kReadWrite);
      executors[block] = std::make_unique<Executor>(task, state.layout(), state.params(), channel.block,
                                                    plan.blocks()[block], region.slots(), region.channel().position);
    }
    const std::int64_t batches = task.schedule.batches_in(channel.step);
    const std::int64_t begin = task.schedule.first_batch(channel.step);
    task.stream.prepare(begin, begin + batches);
    executors[block]->compute(channel.step, board);
    region.store(board, channel.block, *executors[block], batches);
    channel.answered.store(*command, std::memory_order_release);
    channel.to_coordinator.ring();
  }
}

}  // namespace viva::distributed
