// TrainingRun: a recipe's training, on threads or on the reference, with its plan and its progress on stderr.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cli/commands.h"
#include "cli/problem.h"
#include "cli/recipe.h"
#include "cli/validation.h"
#include "viva/data/dataloader.h"
#include "viva/distributed/train.h"
#include "viva/distributed/trainer.h"

namespace viva::cli {

struct TrainingOutcome {
  distributed::TrainResult result;
  double epochs = 0;   // taken from the data; with a fraction where training ended within one
  double seconds = 0;  // the steps alone
  std::int64_t executors = 0;
  // Where there is validation data.
  std::optional<Validation::Look> last_look = {}, best_look = {};
  // The result: the last parameters, or the best ones where the recipe keeps those.
  std::vector<Param> params = {};

  double samples_per_second() const;
};

// Who watches the training.
enum class Audience { kNone, kPerson };

class TrainingRun {
 public:
  // ConfigError where the recipe leaves no batch to train on. The recipe and the problem must outlive the run.
  TrainingRun(const Recipe& recipe, const Problem& problem, Executor executor, std::int64_t executors);

  void print_plan() const;
  TrainingOutcome run(Audience audience) const;

 private:
  class Session;

  std::int64_t steps_per_epoch() const;
  std::int64_t planned_steps() const;
  distributed::ComputeGrads loss() const;
  distributed::TrainResult train_on_threads(const std::vector<Param>& params, Session& session) const;
  distributed::TrainResult train_by_reference(const std::vector<Param>& params, Session& session) const;

  const Recipe& recipe_;
  const Problem& problem_;
  Executor executor_;
  std::int64_t executors_;
  data::DataLoader loader_;
  distributed::TrainConfig config_;
  std::int64_t num_steps_;  // -1: until the epochs are over
};

}  // namespace viva::cli
