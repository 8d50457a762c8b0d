// TrainingRun: a recipe's training, on threads, processes or the reference, with its plan and its progress on stderr.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "cli/executors.h"
#include "cli/problem.h"
#include "cli/recipe.h"
#include "cli/validation.h"
#include "viva/data/dataloader.h"
#include "viva/distributed/failed_batch.h"
#include "viva/distributed/fault_injection.h"
#include "viva/distributed/train.h"
#include "viva/distributed/trainer.h"

namespace viva::cli {

// The worker that computed for the longest time, beside the others.
struct Straggler {
  std::int64_t worker = 0;
  double seconds = 0, median = 0;
};

struct TrainingOutcome {
  distributed::TrainResult result;
  double epochs = 0;   // taken from the data; with a fraction where training ended within one
  double seconds = 0;  // the steps alone
  std::optional<std::chrono::steady_clock::time_point> end_of_first_step = {};
  std::int64_t executors = 0, processes = 0;  // processes: 0 where the executors are threads
  // Where there is validation data.
  std::optional<Validation::Look> last_look = {}, best_look = {};
  // The result: the last parameters, or the best ones where the recipe keeps those.
  std::vector<Param> params = {};

  std::int64_t restarts = 0, retries = 0;  // as in distributed::Progress
  Straggler straggler = {};

  double samples_per_second() const;
};

// How a run is carried out; the result does not depend on it.
struct RunOptions {
  Executors executors;
  std::chrono::duration<double> step_timeout = std::chrono::seconds(300);
  std::vector<distributed::Fault> faults = {};
  std::string failed_batch_directory = ".";  // where a batch that ends training is kept
};

// Who watches the training.
enum class Audience { kNone, kPerson };

class TrainingRun {
 public:
  // ConfigError where the recipe leaves no batch to train on, or a fault cannot be injected into these executors. The
  // recipe and the problem must outlive the run.
  TrainingRun(const Recipe& recipe, const Problem& problem, RunOptions options);

  void print_plan() const;
  TrainingOutcome run(Audience audience) const;
  // A batch of this training, computed once more by the thread that calls.
  distributed::LossAndGrads replay(const distributed::FailedBatch& failed) const;

 private:
  class Session;

  std::int64_t steps_per_epoch() const;
  std::int64_t planned_steps() const;
  distributed::ComputeGrads loss() const;
  distributed::ComputeGrads plain_loss() const;
  void train_on_executors(const std::vector<Param>& params, Session& session, TrainingOutcome& outcome) const;
  distributed::TrainResult train_by_reference(const std::vector<Param>& params, Session& session) const;

  const Recipe& recipe_;
  const Problem& problem_;
  RunOptions options_;
  data::DataLoader loader_;
  distributed::TrainConfig config_;
  std::int64_t num_steps_;  // -1: until the epochs are over
};

}  // namespace viva::cli
