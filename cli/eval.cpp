#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/evaluation.h"
#include "cli/problem.h"
#include "cli/recipe.h"
#include "viva/io/digest.h"
#include "viva/io/safetensors.h"

namespace viva::cli {

void eval(const EvalCommand& command) {
  const Recipe recipe = load_recipe(command.recipe, command.overrides);
  std::vector<Param> stored = io::read_safetensors(command.params);
  const TestProblem problem = load_test_problem(recipe);
  const std::vector<Param> params = params_of_model(problem.model, std::move(stored), command.params);
  const Evaluation result = evaluate(problem.model, params, problem.test);
  const std::string digest = io::digest(params);
  if (command.json) {
    const nlohmann::ordered_json json = {{"test_samples", result.samples},
                                         {"test_loss", result.loss},
                                         {"test_accuracy", result.accuracy},
                                         {"digest", digest}};
    print_results(json.dump() + "\n");
    return;
  }
  print_results(fmt::format("test loss {:.4f}, accuracy {:.4f} on {} samples\ndigest {}\n", result.loss,
                            result.accuracy, result.samples, digest));
}

void print_digest(const std::string& params) { print_results(io::digest(io::read_safetensors(params)) + "\n"); }

}  // namespace viva::cli
