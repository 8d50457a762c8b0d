#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/problem.h"
#include "cli/recipe.h"
#include "cli/training_run.h"
#include "viva/distributed/failed_batch.h"
#include "viva/distributed/plain_gradient.h"

namespace viva::cli {

void replay(const ReplayCommand& command) {
  const Recipe recipe = load_recipe(command.recipe, command.overrides);
  const Problem problem = load_problem(recipe);
  distributed::FailedBatch failed = distributed::read_failed_batch(command.failed_batch);
  failed.params = params_of_model(problem.model.model, std::move(failed.params), command.failed_batch);
  const TrainingRun run(recipe, problem, {});
  // Said before, for afterwards there may be nobody to say it.
  print_message(fmt::format("step {}, worker {}, batch {}: samples {}", failed.step, failed.worker, failed.batch,
                            fmt::join(failed.samples, ", ")));
  auto [loss, grads] = run.replay(failed);
  const optim::Layout layout(failed.params);
  distributed::take_statistics(grads, layout);  // of buffers, which are no gradients
  const double norm = distributed::gradient_norm(layout, grads);
  print_results(fmt::format("loss {}, norm of the gradient {}\n", loss, norm));
}

}  // namespace viva::cli
