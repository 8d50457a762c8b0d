#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/evaluation.h"
#include "cli/executors.h"
#include "cli/interruption.h"
#include "cli/output_directory.h"
#include "cli/peak_memory.h"
#include "cli/problem.h"
#include "cli/training_run.h"
#include "viva/base/error.h"
#include "viva/distributed/fault_injection.h"
#include "viva/io/digest.h"

namespace viva::cli {
namespace {

void check(const TrainCommand& command) {
  if (command.steps && (*command.steps < 0 || *command.steps > kMaxSteps)) {
    throw ConfigError({}, 0, "--steps",
                      fmt::format("expected a number from 0 to {}, found {}", kMaxSteps, *command.steps));
  }
  constexpr double kYear = 365 * 24 * 3600;
  if (!(command.step_timeout > 0 && command.step_timeout <= kYear)) {
    throw ConfigError(
        {}, 0, "--step-timeout",
        fmt::format("expected a number of seconds > 0 and at most {}, found {}", kYear, command.step_timeout));
  }
}

Recipe recipe_of(const TrainCommand& command) {
  Recipe recipe = load_recipe(command.recipe, command.overrides);
  if (command.steps) {
    recipe.train.steps = command.steps;
    recipe.train.epochs.reset();
  }
  return recipe;
}

std::vector<distributed::Fault> faults_of(const TrainCommand& command) {
  std::vector<distributed::Fault> faults;
  for (const std::string& text : command.faults) faults.push_back(distributed::parse_fault(text));
  return faults;
}

// What a person should know about how training went.
void print_incidents(const TrainingOutcome& outcome) {
  if (outcome.restarts > 0) print_message(fmt::format("worker processes that were replaced: {}", outcome.restarts));
  if (outcome.retries > 0)
    print_message(fmt::format("batches that were computed again after an exception: {}", outcome.retries));
  if (const Straggler& slow = outcome.straggler; slow.seconds > 1.25 * slow.median && slow.seconds > 0.1) {
    print_message(fmt::format("worker {} was the slowest: {:.2f} s of computing; the median is {:.2f} s", slow.worker,
                              slow.seconds, slow.median));
  }
  if (interrupted_by() != 0) {
    print_message(
        fmt::format("signal {} has ended the training after step {}", interrupted_by(), outcome.result.steps));
  }
}

std::string human_results(const TrainingOutcome& outcome, const std::optional<Evaluation>& test,
                          const std::string& digest) {
  std::string text = fmt::format("trained {} steps, {} samples in {:.2f} s: {:.0f} samples/s\n", outcome.result.steps,
                                 outcome.result.samples, outcome.seconds, outcome.samples_per_second());
  if (outcome.result.skipped > 0) {
    text += fmt::format("skipped {} of them: a gradient or loss was not finite\n", outcome.result.skipped);
  }
  if (outcome.result.steps > outcome.result.skipped)
    text += fmt::format("last step's loss {:.4f}\n", outcome.result.last_loss);
  if (outcome.best_look) {
    const auto& [steps, best] = *outcome.best_look;
    text +=
        fmt::format("best validation loss {:.4f}, accuracy {:.4f} after {} steps\n", best.loss, best.accuracy, steps);
  }
  if (test) {
    text += fmt::format("test loss {:.4f}, accuracy {:.4f} on {} samples\n", test->loss, test->accuracy, test->samples);
  }
  return text + fmt::format("digest {}\n", digest);
}

// What --json prints: docs/file_formats.md lists the keys.
std::string json_results(const TrainCommand& command, const TrainingOutcome& outcome,
                         const std::optional<Evaluation>& test, const std::string& digest) {
  nlohmann::ordered_json json;
  json["steps"] = outcome.result.steps;
  json["skipped"] = outcome.result.skipped;
  json["epochs"] = outcome.epochs;
  json["samples"] = outcome.result.samples;
  json["loss"] = nullptr;
  if (outcome.result.steps > outcome.result.skipped) json["loss"] = outcome.result.last_loss;
  json["total_loss"] = outcome.result.total_loss;
  if (outcome.last_look) {
    json["validation_loss"] = outcome.last_look->evaluation.loss;
    json["validation_accuracy"] = outcome.last_look->evaluation.accuracy;
    json["best_validation_loss"] = outcome.best_look->evaluation.loss;
    json["best_step"] = outcome.best_look->steps;
  }
  json["test_loss"] = nullptr;
  json["test_accuracy"] = nullptr;
  if (test) {
    json["test_loss"] = test->loss;
    json["test_accuracy"] = test->accuracy;
  }
  json["seconds"] = outcome.seconds;
  json["samples_per_second"] = outcome.samples_per_second();
  json["seconds_to_first_step"] = nullptr;
  if (outcome.end_of_first_step) {
    const std::chrono::duration<double> waited = *outcome.end_of_first_step - command.started;
    json["seconds_to_first_step"] = waited.count();
  }
  json["peak_mebibytes"] = peak_mebibytes(outcome.processes);
  json["executors"] = outcome.executors;
  json["restarts"] = outcome.restarts;
  json["retries"] = outcome.retries;
  json["slowest_worker"] = outcome.straggler.worker;
  json["slowest_worker_seconds"] = outcome.straggler.seconds;
  json["median_worker_seconds"] = outcome.straggler.median;
  json["interrupted"] = interrupted_by() != 0;
  json["digest"] = digest;
  return json.dump() + "\n";
}

}  // namespace

void train(const TrainCommand& command) {
  check(command);
  const Recipe recipe = recipe_of(command);
  const Problem problem = load_problem(recipe);
  const TrainingRun run(recipe, problem,
                        {.executors = executors_of(command, recipe.train.workers),
                         .step_timeout = std::chrono::duration<double>(command.step_timeout),
                         .faults = faults_of(command),
                         .failed_batch_directory = command.out.empty() ? "." : command.out});
  std::optional<OutputDirectory> out;
  if (!command.out.empty()) out.emplace(command.out);

  if (!command.quiet) run.print_plan();
  const TrainingOutcome outcome = run.run(command.quiet ? Audience::kNone : Audience::kPerson);
  if (!command.quiet) print_incidents(outcome);

  std::optional<Evaluation> test;
  if (problem.test) test = evaluate(problem.model.model, outcome.params, *problem.test);
  const std::string digest = io::digest(outcome.params);
  if (out) out->write_params(outcome.params);
  print_results(command.json ? json_results(command, outcome, test, digest) : human_results(outcome, test, digest));
}

}  // namespace viva::cli
