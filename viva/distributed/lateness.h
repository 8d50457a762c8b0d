// Lateness: which workers a step waits for, and which have arrived.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "viva/distributed/block_executor.h"

namespace viva::distributed {

// As the executors stand at its construction; any thread may look.
class Lateness {
 public:
  explicit Lateness(const std::vector<BlockExecutor*>& executors);

  // "worker 2 in batch 18, worker 5 in batch 21", or "none".
  std::string who() const { return late_.empty() ? "none" : late_; }
  // "0-1, 3-3", or "none".
  std::string arrived() const { return arrived_.empty() ? "none" : arrived_; }
  // The first of those who are late, and its batch; -1 where there is none.
  std::int64_t worker() const { return worker_; }
  std::int64_t batch() const { return batch_; }

 private:
  std::string late_, arrived_;
  std::int64_t worker_ = -1, batch_ = -1;
};

}  // namespace viva::distributed
