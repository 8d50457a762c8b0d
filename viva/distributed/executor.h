// Executor: computes the gradients of a block of workers into partial sums.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "viva/comm/canonical_tree.h"
#include "viva/distributed/batch_stream.h"
#include "viva/distributed/compute_grads.h"
#include "viva/distributed/step_board.h"

namespace viva::distributed {

// What every executor of a Trainer reads; nothing here changes while a step computes.
struct ComputeTask {
  TrainConfig config;
  StepSchedule schedule;
  BatchStream stream;
  ComputeGrads compute_grads;
  std::vector<std::size_t> guarded;  // the entries whose gradients the guard looks at: none where it is off
};

// A gradient buffer, and the factor that its values still have to be multiplied by.
struct PartialSum {
  PartialSum(const optim::Layout& layout, Tensor flat) : buffer(std::move(flat)), sink(layout, buffer) {}
  Tensor buffer;
  GradSink sink;
  double weight = 1;
};

// Where an executor stands, for who looks from outside.
struct Position {
  enum Phase : int { kIdle, kComputing, kWaiting, kApplying };
  std::atomic<int> phase{kIdle};
  std::atomic<std::int64_t> worker{-1}, batch{-1};
};

// Used by one thread; position() may be read by any.
class Executor {
 public:
  Executor(const ComputeTask& task, const optim::Layout& layout, std::int64_t id,
           const comm::ReductionPlan::Block& block);

  // The step's batches of this executor's workers, folded into partial sums in its first slots. Everything that goes
  // wrong is left on the board.
  void compute(const ComputeTask& task, std::int64_t step, std::span<const Param> params, StepBoard& board);

  std::int64_t id() const { return id_; }
  const comm::ReductionPlan::Block& block() const { return block_; }
  // Partial sums that the block leaves in slots 0, 1, ….
  std::size_t num_partials() const { return num_partials_; }
  const PartialSum& partial(std::size_t slot) const { return slots_[slot]; }
  Position& position() { return position_; }

 private:
  template <typename T>
  void compute_block(const ComputeTask& task, std::int64_t step, std::span<const Param> params, StepBoard& board);
  bool compute_batch(const ComputeTask& task, const StepContext& context, std::int64_t j, std::span<const Param> params,
                     PartialSum& target, StepBoard& board);

  const optim::Layout& layout_;
  std::int64_t id_;
  comm::ReductionPlan::Block block_;
  std::size_t num_partials_;
  std::vector<PartialSum> slots_;
  std::vector<PartialSum> scratch_;  // one where a worker has several batches a step, else none
  Arena arena_;
  data::Batch full_batch_, last_batch_;  // views of one memory: batches of the usual length, and the short last one
  Position position_;
};

}  // namespace viva::distributed
