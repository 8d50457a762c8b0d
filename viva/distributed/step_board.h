// StepBoard: what the executors tell each other about one step, and the decisions that all of them draw from it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "viva/distributed/failure.h"
#include "viva/distributed/gradient_guard.h"
#include "viva/distributed/step_rules.h"

namespace viva::distributed {

// Written while a step computes or reduces, each place by one executor; read by all after the barrier that follows.
struct StepBoard {
  // `pieces`: see pieces_of() in gradient_pass.h.
  StepBoard(std::size_t batches_per_step, std::size_t params, std::size_t executors, std::size_t pieces)
      : losses(batches_per_step),
        lengths(batches_per_step),
        seconds(batches_per_step),
        given(batches_per_step, params),
        failures(executors),
        retried(executors),
        skips(executors),
        stops(executors),
        bad_sums(executors),
        squares(pieces) {}

  // From computing.
  std::vector<double> losses;         // by batch of the step
  std::vector<std::int64_t> lengths;  // samples, by batch of the step
  std::vector<double> seconds;        // that computing took, by batch of the step
  GivenGrads given;
  std::vector<std::optional<BatchFailure>> failures;  // by executor
  std::vector<std::optional<BatchFailure>> retried;   // by executor: the last one that was computed again
  std::vector<char> skips;                            // by executor: whether a batch asks that the step be skipped
  std::vector<char> stops;  // by executor: whether a batch asks that training end after the step

  // From reducing, where a step takes two passes.
  std::vector<std::optional<ElementPlace>> bad_sums;  // by executor: the first element that is not finite
  std::vector<double> squares;                        // of the gradient, summed by piece
};

enum class Verdict { kApply, kSkip, kFail };

struct StepDecision {
  Verdict verdict = Verdict::kFail;
  double loss = 0;  // the sample-weighted mean over the step's batches
  std::int64_t samples = 0;
  bool stop = false;  // whether training ends after the step
};

// Pure functions of the board, so that executors agree without asking each other.
StepDecision decide(const StepBoard& board, std::int64_t batches);

struct SumDecision {
  Verdict verdict = Verdict::kFail;
  double clip = 1;  // what the gradient is multiplied by
};

// After the gradient has been reduced.
SumDecision decide_sum(const StepBoard& board, const TrainConfig& config);

// Throws what kept the step from being applied: WorkerFailed or NonFiniteGradient with the first cause by (worker,
// batch), or the DimensionError of GivenGrads::check, or NonFiniteGradient for the sum over the workers.
[[noreturn]] void throw_cause(const StepBoard& board, std::int64_t step, std::int64_t num_workers, std::int64_t batches,
                              const optim::Layout& layout);

}  // namespace viva::distributed
