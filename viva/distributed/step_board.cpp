#include "viva/distributed/step_board.h"

#include <algorithm>
#include <tuple>

namespace viva::distributed {

StepDecision decide(const StepBoard& board, std::int64_t batches) {
  StepDecision decision;
  const auto count = static_cast<std::size_t>(batches);
  if (std::ranges::any_of(board.failures, [](const auto& f) { return f.has_value(); })) return decision;
  if (!board.given.agree(count)) return decision;
  double weighted_losses = 0;
  for (std::size_t j = 0; j < count; ++j) {
    weighted_losses += static_cast<double>(board.lengths[j]) * board.losses[j];
    decision.samples += board.lengths[j];
  }
  decision.loss = weighted_losses / static_cast<double>(decision.samples);
  decision.apply = true;
  return decision;
}

void throw_cause(const StepBoard& board, std::int64_t step, std::int64_t num_workers, std::int64_t batches,
                 const optim::Layout& layout) {
  const BatchFailure* first = nullptr;
  for (const auto& failure : board.failures) {
    if (!failure) continue;
    if (first == nullptr || std::tie(failure->worker, failure->batch) < std::tie(first->worker, first->batch)) {
      first = &*failure;
    }
  }
  if (first != nullptr) throw WorkerFailed(step, first->worker, first->batch, first->cause);
  board.given.check(step, num_workers, layout, static_cast<std::size_t>(batches));
  throw CommError("a step was not applied, and no executor said why");
}

}  // namespace viva::distributed
