// TrainingRun: a recipe's training, on threads or on the reference, with its plan and its progress on stderr.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cli/commands.h"
#include "cli/problem.h"
#include "cli/recipe.h"
#include "viva/data/dataloader.h"
#include "viva/distributed/train.h"
#include "viva/distributed/trainer.h"

namespace viva::cli {

struct TrainingOutcome {
  distributed::TrainResult result;
  double epochs = 0;   // taken from the data; with a fraction where training ended within one
  double seconds = 0;  // the steps alone
  std::int64_t executors = 0;

  double samples_per_second() const;
};

// Who watches the training.
enum class Audience { kNone, kPerson };

class TrainingRun {
 public:
  // ConfigError where the recipe leaves no batch to train on. The recipe and the problem must outlive the run.
  TrainingRun(const Recipe& recipe, const TrainProblem& problem, Executor executor, std::int64_t executors);

  void print_plan() const;
  TrainingOutcome run(Audience audience) const;

 private:
  using ProgressSource = std::function<distributed::Progress()>;

  std::int64_t planned_steps() const;
  TrainingOutcome run_threads(const std::vector<Param>& params, Audience audience) const;
  TrainingOutcome run_reference(const std::vector<Param>& params, Audience audience) const;
  // Runs `steps` and returns the seconds it took.
  double timed(Audience audience, const ProgressSource& progress, const std::function<void()>& steps) const;
  TrainingOutcome outcome(distributed::TrainResult result, double seconds) const;

  const Recipe& recipe_;
  const TrainProblem& problem_;
  Executor executor_;
  std::int64_t executors_;
  data::DataLoader loader_;
  distributed::TrainConfig config_;
  std::int64_t num_steps_;  // -1: until the epochs are over
};

}  // namespace viva::cli
