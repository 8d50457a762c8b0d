#include "viva/distributed/executor.h"

#include <algorithm>
#include <chrono>

#include "viva/tensor/elementwise.h"

namespace viva::distributed {
namespace {

template <typename T>
Weighted<T> term(const PartialSum& sum) {
  return {sum.buffer.values<T>().data(), static_cast<T>(sum.weight)};
}

// target = left + right, with nothing left to multiply.
template <typename T>
void merge(PartialSum& target, const Weighted<T>& left, const Weighted<T>& right) {
  const auto out = target.buffer.mutable_values<T>();
  weighted_add<T>(out.data(), left, right, out.size());
  target.weight = 1;
}

}  // namespace

std::vector<Tensor> make_slots(const optim::Layout& layout, const comm::ReductionPlan::Block& block) {
  std::vector<Tensor> slots;
  for (std::int64_t s = 0; s < block.slots; ++s) slots.push_back(layout.make_buffer());
  return slots;
}

Executor::Executor(const ComputeTask& task, const optim::Layout& layout, std::span<const Param> params, std::int64_t id,
                   const comm::ReductionPlan::Block& block, const std::vector<Tensor>& slots, Position& position)
    : BlockExecutor(block), task_(task), layout_(layout), params_(params), id_(id), position_(position) {
  const data::DataLoader& loader = task.stream.loader();
  if (slots.empty() || loader.size() == 0) return;
  for (const Tensor& slot : slots) slots_.emplace_back(layout, slot);
  if (task.config.batches_per_step > task.config.num_workers) scratch_.emplace_back(layout, layout.make_buffer());
  full_batch_ = loader.dataset().make_batch(loader.batch_length(0));
  const std::int64_t last = loader.batch_length(loader.size() - 1);
  last_batch_ = {full_batch_.inputs.slice(0, last), full_batch_.targets.slice(0, last)};
}

void Executor::compute(std::int64_t step, StepBoard& board) {
  board.failures[static_cast<std::size_t>(id_)].reset();
  board.retried[static_cast<std::size_t>(id_)].reset();
  board.skips[static_cast<std::size_t>(id_)] = 0;
  board.stops[static_cast<std::size_t>(id_)] = 0;
  if (slots_.empty()) return;
  visit_floating(slots_.front().buffer.dtype(), "Executor",
                 [&](auto type) { compute_block<decltype(type)>(step, board); });
}

template <typename T>
void Executor::compute_block(std::int64_t step, StepBoard& board) {
  const comm::ReductionPlan::Block& plan = block();
  const TrainConfig& config = task_.config;
  const bool weighted = config.aggregation == GradAggregation::kWeightedAverage;
  const std::int64_t batches = task_.schedule.batches_in(step);
  std::size_t top = 0;  // slots in use
  for (std::int64_t w = plan.workers.lo; w < plan.workers.hi; ++w) {
    PartialSum& sum = slots_[top++];
    for (std::int64_t j = w; j < batches; j += config.num_workers) {
      const std::int64_t number = task_.schedule.first_batch(step) + j;
      const StepContext context{task_.stream.loader().options().seed, step, w, number, Mode::kTraining, arena_};
      PartialSum& target = j == w ? sum : scratch_.front();
      if (!compute_batch(context, j, target, board)) return;
      target.weight = weighted ? static_cast<double>(task_.stream.length(number)) : 1.0;
      if (j != w) merge<T>(sum, term<T>(sum), term<T>(target));
    }
    if (w >= batches) {
      std::ranges::fill(sum.buffer.mutable_values<T>(), T{0});
      sum.weight = 1;
    }
    for (std::int64_t m = plan.merges[static_cast<std::size_t>(w - plan.workers.lo)]; m > 0; --m) {
      --top;
      merge<T>(slots_[top - 1], term<T>(slots_[top - 1]), term<T>(slots_[top]));
    }
  }
}

// Batch j of the step; false where it failed. A batch that asks for the step to be skipped has not: whether a later one
// fails must not depend on who computes it.
bool Executor::compute_batch(const StepContext& context, std::int64_t j, PartialSum& target, StepBoard& board) {
  position_.worker.store(context.worker, std::memory_order_relaxed);
  position_.batch.store(context.batch, std::memory_order_relaxed);
  const auto place = static_cast<std::size_t>(j);
  const auto fail = [&](std::string cause, std::optional<ElementPlace> bad_element = {}) {
    board.failures[static_cast<std::size_t>(id_)] =
        BatchFailure{context.worker, context.batch, std::move(cause), bad_element, {}};
    return false;
  };
  const auto indices = task_.stream.indices(context.batch);
  board.lengths[place] = static_cast<std::int64_t>(indices.size());
  const auto began = std::chrono::steady_clock::now();
  const auto attempt = [&] {
    const data::Batch& batch = board.lengths[place] == full_batch_.size() ? full_batch_ : last_batch_;
    task_.stream.loader().dataset().gather(indices, batch);
    arena_.reset();
    target.sink.clear();
    board.losses[place] = task_.compute_grads(context, batch, params_, target.sink);
  };
  auto failure = failure_of(attempt);
  for (std::int64_t a = 1; failure && a < task_.attempts; ++a) {
    board.retried[static_cast<std::size_t>(id_)] = BatchFailure{context.worker, context.batch, *failure, {}, {}};
    failure = failure_of(attempt);
  }
  board.seconds[place] = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (failure) return fail(std::move(*failure));
  const bool skips = task_.config.non_finite == NonFinite::kSkip;
  auto bad_loss = failure_of_loss(board.losses[place]);
  if (bad_loss && !skips) return fail(std::move(*bad_loss));
  board.given.record(place, target.sink);
  // While the gradient is in the caches.
  const auto bad_element = first_non_finite(layout_, target.buffer, task_.guarded, target.sink);
  if (bad_element && !skips) return fail({}, bad_element);
  if (bad_loss || bad_element) board.skips[static_cast<std::size_t>(id_)] = 1;
  if (target.sink.stop_requested()) board.stops[static_cast<std::size_t>(id_)] = 1;
  return true;
}

}  // namespace viva::distributed
