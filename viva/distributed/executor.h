// Executor: computes the gradients of a block of workers into partial sums, here and now.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "viva/distributed/batch_stream.h"
#include "viva/distributed/block_executor.h"
#include "viva/distributed/compute_grads.h"

namespace viva::distributed {

// What every executor of a Trainer reads; nothing here changes while a step computes.
struct ComputeTask {
  TrainConfig config;
  StepSchedule schedule;
  BatchStream stream;
  ComputeGrads compute_grads;
  std::int64_t attempts = 1;         // at a batch whose callback throws
  std::vector<std::size_t> guarded;  // the entries whose gradients the guard looks at: none where it is off
};

// A gradient buffer, and the factor that its values still have to be multiplied by.
struct PartialSum {
  PartialSum(const optim::Layout& layout, Tensor flat) : buffer(std::move(flat)), sink(layout, buffer) {}
  Tensor buffer;
  GradSink sink;
  double weight = 1;
};

// A gradient buffer for each slot of the block.
std::vector<Tensor> make_slots(const optim::Layout& layout, const comm::ReductionPlan::Block& block);

// Computes in the thread that calls it.
class Executor final : public BlockExecutor {
 public:
  // `slots`: as make_slots(), whoever owns the memory. All that is referred to must outlive the executor.
  Executor(const ComputeTask& task, const optim::Layout& layout, std::span<const Param> params, std::int64_t id,
           const comm::ReductionPlan::Block& block, const std::vector<Tensor>& slots, Position& position);

  void compute(std::int64_t step, StepBoard& board) override;
  PartialView partial(std::size_t slot) const override { return {&slots_[slot].buffer, slots_[slot].weight}; }
  Position& position() override { return position_; }

 private:
  template <typename T>
  void compute_block(std::int64_t step, StepBoard& board);
  bool compute_batch(const StepContext& context, std::int64_t j, PartialSum& target, StepBoard& board);

  const ComputeTask& task_;
  const optim::Layout& layout_;
  std::span<const Param> params_;
  std::int64_t id_;
  std::vector<PartialSum> slots_;
  std::vector<PartialSum> scratch_;  // one where a worker has several batches a step, else none
  Arena arena_;
  data::Batch full_batch_, last_batch_;  // views of one memory: batches of the usual length, and the short last one
  Position& position_;
};

}  // namespace viva::distributed
