// What a synchronous training run takes and gives, and the plain reference that defines it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "viva/data/dataloader.h"
#include "viva/distributed/aggregation.h"
#include "viva/distributed/compute_grads.h"
#include "viva/distributed/gradient_guard.h"
#include "viva/optim/clipping.h"
#include "viva/optim/schedule.h"

namespace viva::distributed {

// num_workers and batches_per_step decide the mathematics; executors (TrainerOptions) only the speed.
struct TrainConfig {
  std::int64_t num_workers = 1;
  // Batches that one step takes from the loader in total; 0 stands for num_workers. Batch j goes to worker
  // j mod num_workers.
  std::int64_t batches_per_step = 0;
  GradAggregation aggregation = GradAggregation::kWeightedAverage;
  // The end of the data: after this many epochs, with the last step taking the batches that are left. 0: no end.
  std::int64_t epochs = 0;
  // A factor for the optimizer's learning rates, by step.
  optim::Schedule schedule = {};
  // With either of these a step takes two passes over the gradient, for nothing may be applied before all of it has
  // been seen.
  optim::Clipping clipping = {};
  NonFinite non_finite = NonFinite::kIgnore;
  // What a buffer takes of a step's statistic: value + buffer_momentum * (statistic - value); 0 to 1.
  double buffer_momentum = 0.1;
};

struct TrainResult {
  std::vector<Param> final_params;
  optim::Optimizer final_optimizer;
  double total_loss = 0;  // the sum of the losses of the steps that were applied
  double last_loss = 0;   // of the last of them: the sample-weighted mean over its batches
  // All steps, those that were skipped included.
  std::int64_t steps = 0;
  std::int64_t batches = 0;
  std::int64_t samples = 0;
  std::int64_t skipped = 0;  // steps that NonFinite::kSkip did not apply
};

// Called after every step with what training has come to; false ends it.
using AfterStep = std::function<bool(const TrainResult& so_far)>;

// The reference: one thread, no plan, every addition in sight. Step s takes the batches sB … sB+B-1 of the endless
// stream of epochs. num_steps = 0 returns the input; an empty loader returns 0 steps; -1 goes on until config.epochs
// are over. Errors: ConfigError for the settings, WorkerFailed for what compute_grads throws and for a loss that is not
// finite, DimensionError for a gradient that one batch gave and another did not, NonFiniteGradient by
// NonFinite::kError.
TrainResult train_synchronous(const TrainConfig& config, std::span<const Param> params,
                              const optim::Optimizer& optimizer, const data::DataLoader& loader,
                              const ComputeGrads& compute_grads, std::int64_t num_steps,
                              const AfterStep& after_step = {});

}  // namespace viva::distributed
