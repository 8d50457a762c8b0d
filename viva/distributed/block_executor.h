// BlockExecutor: whoever computes the gradients of a block of workers, in this process or in another one.
#pragma once

#include <atomic>
#include <cstdint>

#include "viva/comm/canonical_tree.h"
#include "viva/distributed/range_sum.h"
#include "viva/distributed/step_board.h"

namespace viva::distributed {

// Where an executor stands, for who looks from outside. It may lie in shared memory.
struct Position {
  enum Phase : int { kIdle, kComputing, kWaiting, kApplying };
  std::atomic<int> phase{kIdle};
  std::atomic<std::int64_t> worker{-1}, batch{-1};
  static_assert(std::atomic<std::int64_t>::is_always_lock_free);
};

// Used by one thread; position() may be read by any.
class BlockExecutor {
 public:
  // The plan that has the block must outlive the executor.
  explicit BlockExecutor(const comm::ReductionPlan::Block& block) : block_(block) {}
  virtual ~BlockExecutor() = default;
  BlockExecutor(const BlockExecutor&) = delete;
  BlockExecutor& operator=(const BlockExecutor&) = delete;

  // The step's batches of the block's workers, folded into the block's partial sums. Throws nothing: what goes wrong is
  // left on the board.
  virtual void compute(std::int64_t step, StepBoard& board) = 0;
  // What compute() has left, 0 … block().num_partials - 1; other threads may read it until the next one.
  virtual PartialView partial(std::size_t slot) const = 0;
  virtual Position& position() = 0;

  const comm::ReductionPlan::Block& block() const { return block_; }

 private:
  const comm::ReductionPlan::Block& block_;
};

}  // namespace viva::distributed
