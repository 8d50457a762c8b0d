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
  const JudgedProblem problem = load_judged_problem(recipe);
  const std::vector<Param> params = load_params(problem.model.model, command.params);
  const Evaluation result = evaluate(problem.model.model, params, problem.dataset);
  const std::string digest = io::digest(params);
  if (command.json) {
    const nlohmann::ordered_json json = {{problem.part + "_samples", result.samples},
                                         {problem.part + "_loss", result.loss},
                                         {problem.part + "_accuracy", result.accuracy},
                                         {"digest", digest}};
    print_results(json.dump() + "\n");
    return;
  }
  print_results(fmt::format("{} loss {:.4f}, accuracy {:.4f} on {} samples\ndigest {}\n", problem.part, result.loss,
                            result.accuracy, result.samples, digest));
}

void print_digest(const std::string& params) { print_results(io::digest(io::read_safetensors(params)) + "\n"); }

}  // namespace viva::cli
