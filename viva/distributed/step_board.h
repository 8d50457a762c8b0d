// StepBoard: what the executors tell each other about one step, and the decision that all of them draw from it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "viva/distributed/failure.h"
#include "viva/distributed/step_rules.h"

namespace viva::distributed {

// Written while a step computes, each place by one executor; read by all between the step's two barriers.
struct StepBoard {
  StepBoard(std::size_t batches_per_step, std::size_t params, std::size_t executors)
      : losses(batches_per_step), lengths(batches_per_step), given(batches_per_step, params), failures(executors) {}

  std::vector<double> losses;         // by batch of the step
  std::vector<std::int64_t> lengths;  // samples, by batch of the step
  GivenGrads given;
  std::vector<std::optional<BatchFailure>> failures;  // by executor
};

struct StepDecision {
  bool apply = false;
  double loss = 0;  // the sample-weighted mean over the step's batches
  std::int64_t samples = 0;
};

// A pure function of the board, so that executors agree without asking each other.
StepDecision decide(const StepBoard& board, std::int64_t batches);

// Throws what kept the step from being applied: WorkerFailed with the first cause by (worker, batch), or the
// DimensionError of GivenGrads::check.
[[noreturn]] void throw_cause(const StepBoard& board, std::int64_t step, std::int64_t num_workers, std::int64_t batches,
                              const optim::Layout& layout);

}  // namespace viva::distributed
