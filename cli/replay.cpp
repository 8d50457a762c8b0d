#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/problem.h"
#include "cli/recipe.h"
#include "cli/training_run.h"
#include "viva/distributed/failed_batch.h"

namespace viva::cli {
namespace {

double norm_of(const std::vector<GradPair>& grads) {
  double squares = 0;
  for (const GradPair& pair : grads) {
    const Tensor values = pair.grad.to(Dtype::kFloat64);
    for (const double x : values.values<double>()) squares += x * x;
  }
  return std::sqrt(squares);
}

}  // namespace

void replay(const ReplayCommand& command) {
  const Recipe recipe = load_recipe(command.recipe, command.overrides);
  const Problem problem = load_problem(recipe);
  distributed::FailedBatch failed = distributed::read_failed_batch(command.failed_batch);
  failed.params = params_of_model(problem.model.model, std::move(failed.params), command.failed_batch);
  const TrainingRun run(recipe, problem, {});
  // Said before, for afterwards there may be nobody to say it.
  print_message(fmt::format("step {}, worker {}, batch {}: samples {}", failed.step, failed.worker, failed.batch,
                            fmt::join(failed.samples, ", ")));
  const auto [loss, grads] = run.replay(failed);
  print_results(fmt::format("loss {}, norm of the gradient {}\n", loss, norm_of(grads)));
}

}  // namespace viva::cli
