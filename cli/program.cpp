#include "cli/program.h"

#include <CLI/CLI.hpp>
#include <exception>
#include <new>
#include <string>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/interruption.h"
#include "viva/base/error.h"

namespace viva::cli {
namespace {

constexpr int kRuntimeError = 1;
constexpr int kUsageError = 2;

void add_recipe(CLI::App& command, std::string& recipe, std::vector<std::string>& overrides) {
  command.add_option("RECIPE", recipe, "the recipe, a TOML file; relative paths in it begin at its\ndirectory")
      ->required();
  command
      .add_option("--set", overrides,
                  "section.key=value in the place of what the recipe says, such as\ntrain.workers=8; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

void add_train(CLI::App& app, TrainCommand& train) {
  CLI::App* command = app.add_subcommand("train", "Train a recipe's model and print its loss, accuracy and digest.");
  add_recipe(*command, train.recipe, train.overrides);
  command->add_option(
      "--threads", train.threads,
      "threads that run the workers, 1 to 1024: they change the\nspeed, never the result (default: the CPUs "
      "that this\nprocess may use, at most one a worker)");
  command->add_option("--processes", train.processes,
                      "processes in the place of threads: one that crashes, is\nkilled or hangs is replaced, and the "
                      "result does not change");
  command->add_option("--min-processes", train.min_processes,
                      "go on with so few where processes are lost for good\n(default: the loss of one ends training)");
  command
      ->add_option_function<std::string>(
          "--executor",
          [&train](const std::string& name) {
            train.executor = name == "reference"   ? Executor::kReference
                             : name == "processes" ? Executor::kProcesses
                                                   : Executor::kThreads;
          },
          "threads, processes, or reference: a plain slow loop that\ndefines the result (default: threads)")
      ->check(CLI::IsMember({"threads", "processes", "reference"}))
      ->type_name("NAME");
  command->add_option(
      "--step-timeout", train.step_timeout,
      "seconds that a step may take; a thread that takes longer\nends the training, a process is killed "
      "and replaced\n(default: 300)");
  command
      ->add_option("--inject", train.faults,
                   "a fault, to see training bear it: kill:worker=1,step=7\n(also hang, throw, nan), slow=200ms, "
                   "random-kill=0.01,seed=3;\nmay be repeated")
      ->type_name("FAULT")
      ->allow_extra_args(false);
  command->add_option("--steps", train.steps, "end after so many steps, in the place of the recipe's\nepochs or steps");
  command->add_option("--out", train.out, "write the final parameters to DIR/params.safetensors")->type_name("DIR");
  command->add_flag("--json", train.json, "print the results as one JSON object");
  command->add_flag("--quiet", train.quiet, "show neither plan nor progress");
  command->footer("Results go to standard output, the plan, progress and warnings to standard error.");
  command->callback([&train] { viva::cli::train(train); });
}

void add_eval(CLI::App& app, EvalCommand& eval) {
  CLI::App* command = app.add_subcommand("eval", "Print the loss and accuracy of stored parameters on the test data.");
  add_recipe(*command, eval.recipe, eval.overrides);
  command->add_option("PARAMS", eval.params, "the parameters, a safetensors file")->required();
  command->add_flag("--json", eval.json, "print the results as one JSON object");
  command->callback([&eval] { viva::cli::eval(eval); });
}

void add_replay(CLI::App& app, ReplayCommand& replay) {
  CLI::App* command = app.add_subcommand(
      "replay", "Compute a batch that ended a training once more, in this process: to be seen by a debugger.");
  add_recipe(*command, replay.recipe, replay.overrides);
  command->add_option("BATCH", replay.failed_batch, "the file that the training's error named")->required();
  command->callback([&replay] { viva::cli::replay(replay); });
}

void add_predict(CLI::App& app, PredictCommand& predict) {
  CLI::App* command =
      app.add_subcommand("predict", "Print the class that stored parameters see in each image of a file.");
  add_recipe(*command, predict.recipe, predict.overrides);
  command->add_option("PARAMS", predict.params, "the parameters, a safetensors file")->required();
  command->add_option("INPUTS", predict.inputs, "images, an IDX file (plain or gzip) or an NPY file")->required();
  command->add_flag("--probabilities", predict.probabilities, "every class's probability instead");
  command
      ->add_option("--out", predict.out, "write an NPY file: classes int32 (n), or probabilities\nfloat32 (n, classes)")
      ->type_name("FILE.npy");
  command->callback([&predict] { viva::cli::predict(predict); });
}

void add_sample(CLI::App& app, SampleCommand& sample) {
  CLI::App* command = app.add_subcommand("sample", "Print text that a trained language model goes on to write.");
  add_recipe(*command, sample.recipe, sample.overrides);
  command->add_option("PARAMS", sample.params, "the parameters, a safetensors file")->required();
  command->add_option("--prompt", sample.prompt, "the text to go on from (default: the end of a line)")
      ->type_name("TEXT");
  command->add_option("--length", sample.length, "characters to write (default: 500)")
      ->check(CLI::Range(1, 10'000'000));
  command
      ->add_option("--temperature", sample.temperature,
                   "0 takes the likeliest character, 1 the model's chances\n(default: 0.8)")
      ->check(CLI::Range(0.0, 100.0));
  command->add_option("--top", sample.top, "only the so many likeliest characters (default: all)")
      ->check(CLI::Range(0, 256));
  command->add_option("--seed", sample.seed, "the same seed writes the same text (default: 0)");
  command->callback([&sample] { viva::cli::sample(sample); });
}

void add_digest(CLI::App& app, std::string& params) {
  CLI::App* command = app.add_subcommand("digest", "Print the digest of stored parameters, as training does.");
  command->add_option("PARAMS", params, "the parameters, a safetensors file")->required();
  command->callback([&params] { print_digest(params); });
}

int fail(int code, const std::string& message) {
  print_message("error: " + message);
  return code;
}

// Help and version arrive as exceptions with the text that was asked for.
int parse_and_run(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty())
      return fail(kUsageError, "expected train, eval, predict, sample, replay or digest; see viva --help");
  } catch (const CLI::CallForHelp&) {
    print_results(app.help());
  } catch (const CLI::CallForVersion& version) {
    print_results(std::string(version.what()) + "\n");
  } catch (const CLI::ParseError& error) {
    return fail(kUsageError, std::string(error.what()) + "; see viva --help");
  }
  return 0;
}

}  // namespace

int run_program(int argc, const char* const* argv, std::chrono::steady_clock::time_point started) {
  TrainCommand train;
  train.started = started;
  EvalCommand eval;
  PredictCommand predict;
  SampleCommand sample;
  ReplayCommand replay;
  std::string digest;
  try {
    CLI::App app("viva trains models by synchronous data parallelism: the same bits on any number of threads.", "viva");
    app.set_version_flag("--version", "viva " VIVA_VERSION);
    app.require_subcommand(0, 1);
    app.footer(
        "Exit codes: 0 done; 2 wrong usage or configuration; 1 anything that went wrong later;\n128 + the signal's "
        "number where one has ended the training early.");
    add_train(app, train);
    add_eval(app, eval);
    add_predict(app, predict);
    add_sample(app, sample);
    add_replay(app, replay);
    add_digest(app, digest);
    const int code = parse_and_run(app, argc, argv);
    // As a shell reports a program that a signal ended.
    return code == 0 && interrupted_by() != 0 ? 128 + interrupted_by() : code;
  } catch (const ConfigError& error) {
    return fail(kUsageError, error.what());
  } catch (const std::bad_alloc&) {
    return fail(kRuntimeError, "out of memory: take a smaller model, batch size or number of threads");
  } catch (const std::exception& error) {
    return fail(kRuntimeError, error.what());
  }
}

}  // namespace viva::cli
