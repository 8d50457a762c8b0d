#include "viva/distributed/step_board.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "viva/comm/canonical_tree.h"

namespace viva::distributed {
namespace {

// The smallest, or null where there is none.
template <typename Value, typename Less>
const Value* first_of(const std::vector<std::optional<Value>>& values, Less less) {
  const Value* first = nullptr;
  for (const auto& value : values) {
    if (value && (first == nullptr || less(*value, *first))) first = &*value;
  }
  return first;
}

}  // namespace

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
  const auto any = [](const std::vector<char>& flags) {
    return std::ranges::any_of(flags, [](char f) { return f != 0; });
  };
  decision.verdict = any(board.skips) ? Verdict::kSkip : Verdict::kApply;
  decision.stop = any(board.stops);
  return decision;
}

SumDecision decide_sum(const StepBoard& board, const TrainConfig& config) {
  if (std::ranges::any_of(board.bad_sums, [](const auto& place) { return place.has_value(); })) {
    return {config.non_finite == NonFinite::kSkip ? Verdict::kSkip : Verdict::kFail};
  }
  SumDecision decision{Verdict::kApply};
  if (config.clipping.norm) {
    decision.clip = optim::clip_factor(*config.clipping.norm, std::sqrt(comm::canonical_sum(board.squares)));
  }
  return decision;
}

void throw_cause(const StepBoard& board, std::int64_t step, std::int64_t num_workers, std::int64_t batches,
                 const optim::Layout& layout) {
  const BatchFailure* failure = first_of(board.failures, [](const BatchFailure& a, const BatchFailure& b) {
    return std::tie(a.worker, a.batch) < std::tie(b.worker, b.batch);
  });
  const auto throw_non_finite = [&](std::int64_t worker, const ElementPlace& place) {
    throw NonFiniteGradient(worker, step, layout.entries()[place.entry].name, place.index);
  };
  if (failure != nullptr) {
    if (failure->error) std::rethrow_exception(failure->error);
    if (failure->bad_element) throw_non_finite(failure->worker, *failure->bad_element);
    throw WorkerFailed(step, failure->worker, failure->batch, failure->cause);
  }
  board.given.check(step, num_workers, layout, static_cast<std::size_t>(batches));
  if (const ElementPlace* place = first_of(board.bad_sums, std::less<>())) throw_non_finite(kSumOfWorkers, *place);
  throw CommError("a step was not applied, and no executor said why");
}

}  // namespace viva::distributed
