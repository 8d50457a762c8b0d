#include "viva/distributed/lateness.h"

#include <fmt/format.h>

namespace viva::distributed {

Lateness::Lateness(const std::vector<BlockExecutor*>& executors) {
  for (BlockExecutor* executor : executors) {
    const comm::TreeNode block = executor->block().workers;
    if (block.lo == block.hi) continue;
    const Position& position = executor->position();
    if (position.phase.load(std::memory_order_relaxed) != Position::kComputing) {
      arrived_ += fmt::format("{}{}-{}", arrived_.empty() ? "" : ", ", block.lo, block.hi - 1);
      continue;
    }
    const std::int64_t at = position.worker.load(std::memory_order_relaxed);
    const std::int64_t in = position.batch.load(std::memory_order_relaxed);
    late_ += fmt::format("{}worker {} in batch {}", late_.empty() ? "" : ", ", at, in);
    if (worker_ < 0) {
      worker_ = at;
      batch_ = in;
    }
  }
}

}  // namespace viva::distributed
