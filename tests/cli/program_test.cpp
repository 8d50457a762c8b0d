// The viva program itself: what it prints, what it writes and how it ends.
#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/tiny_problem.h"
#include "viva/data/idx.h"
#include "viva/distributed/train.h"
#include "viva/io/digest.h"
#include "viva/nn/classifier.h"
#include "viva/nn/mlp.h"

namespace viva::cli {
namespace {

using nlohmann::json;
using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

TEST(Program, TrainsAndPrintsItsResults) {
  const TinyProblem problem;
  const std::vector<std::string> before = problem.files();
  const ProgramResult result = problem.run("train r.toml --threads 1");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("trained 7 steps, 80 samples in "));
  EXPECT_THAT(result.out, HasSubstr("test loss "));
  EXPECT_THAT(last_line(result.out), MatchesRegex("digest [0-9a-f]{64}"));
  EXPECT_THAT(result.err, HasSubstr("data: 20 training samples of shape [2, 2], 7 test samples\n"));
  EXPECT_THAT(result.err, HasSubstr("model: perceptron 4-5-3, 43 parameters; optimizer sgd_momentum, lr 0.1\n"));
  EXPECT_THAT(result.err, HasSubstr("3 workers, batches of 4, 3 batches a step, gradients averaged over samples; 7"));
  EXPECT_THAT(result.err, HasSubstr("executors: 1 threads on "));
  EXPECT_EQ(problem.files(), before);
}

TEST(Program, PipedProgressHasNoControlCharacters) {
  const TinyProblem problem;
  const ProgramResult result = problem.run("train r.toml");
  EXPECT_THAT(result.err, HasSubstr("epoch 4/4  step 7/7  loss "));
  for (const char c : result.err) EXPECT_TRUE(c == '\n' || (c >= ' ' && c < '\x7f')) << static_cast<int>(c);
}

TEST(Program, QuietMeansResultsAlone) {
  const TinyProblem problem;
  EXPECT_EQ(problem.run("train r.toml --quiet --threads 1").err, "");
}

TEST(Program, JsonIsTheLastLine) {
  const TinyProblem problem;
  const json result = json_of(problem.run("train r.toml --json --threads 2"));
  EXPECT_EQ(result.at("steps"), 7);
  EXPECT_EQ(result.at("epochs"), 4);
  EXPECT_EQ(result.at("samples"), 80);
  EXPECT_EQ(result.at("executors"), 2);
  EXPECT_GT(result.at("loss").get<double>(), 0);
  EXPECT_GT(result.at("total_loss").get<double>(), result.at("loss").get<double>());
  EXPECT_GT(result.at("test_loss").get<double>(), 0);
  EXPECT_LE(result.at("test_accuracy").get<double>(), 1);
  EXPECT_GT(result.at("seconds").get<double>(), 0);
  EXPECT_NEAR(result.at("samples_per_second").get<double>(), 80 / result.at("seconds").get<double>(), 1e-6);
  EXPECT_THAT(result.at("digest").get<std::string>(), MatchesRegex("[0-9a-f]{64}"));
}

TEST(Program, JsonSaysWhatTheRunHasCost) {
  const TinyProblem problem;
  const auto cost_of = [&](const std::string& options) {
    const json result = json_of(problem.run("train r.toml --json --quiet --inject slow=150ms,worker=0 " + options));
    // The first step is one of seven, and each waits for the slow worker.
    EXPECT_GE(result.at("seconds_to_first_step").get<double>(), 0.15) << options;
    EXPECT_GE(result.at("seconds").get<double>(), 1.05) << options;
    EXPECT_LT(result.at("seconds_to_first_step").get<double>(), result.at("seconds").get<double>()) << options;
    return result.at("peak_mebibytes").get<double>();
  };
  const double of_threads = cost_of("--threads 2");
  EXPECT_GT(of_threads, 1);
  EXPECT_GT(cost_of("--executor reference"), 1);
#if !defined(__SANITIZE_THREAD__)
  EXPECT_GT(cost_of("--processes 2"), of_threads);
#endif
  const json untrained = json_of(problem.run("train r.toml --json --quiet --steps 0"));
  EXPECT_TRUE(untrained.at("seconds_to_first_step").is_null());
}

TEST(Program, WithoutTestDataThereIsNoAccuracy) {
  const TinyProblem problem;
  std::string recipe = problem.read("r.toml");
  recipe.erase(recipe.find("test_images"), recipe.find("[model]") - recipe.find("test_images"));
  problem.write("no_test.toml", recipe);
  const json result = json_of(problem.run("train no_test.toml --json --quiet"));
  EXPECT_TRUE(result.at("test_loss").is_null());
  EXPECT_TRUE(result.at("test_accuracy").is_null());
}

TEST(Program, StepsReplaceTheRecipesEnd) {
  const TinyProblem problem;
  EXPECT_EQ(json_of(problem.run("train r.toml --json --quiet --steps 2")).at("epochs"), 1.2);
  const json untrained = json_of(problem.run("train r.toml --json --quiet --steps 0"));
  EXPECT_EQ(untrained.at("steps"), 0);
  EXPECT_TRUE(untrained.at("loss").is_null());
}

TEST(Program, EveryExecutorGivesTheSameDigest) {
  const TinyProblem problem;
  const auto digest_with = [&](const std::string& options) {
    const json result = json_of(problem.run("train r.toml --json --quiet " + options));
    return result.at("digest").get<std::string>() + result.at("total_loss").dump() + result.at("test_loss").dump();
  };
  const std::string expected = digest_with("--executor reference");
  for (const char* threads : {"1", "2", "3", "7"}) {
    EXPECT_EQ(digest_with(std::string("--executor threads --threads ") + threads), expected) << threads;
  }
#if !defined(__SANITIZE_THREAD__)
  for (const char* processes : {"--processes 1", "--processes 3", "--executor processes"}) {
    EXPECT_EQ(digest_with(processes), expected) << processes;
  }
#endif
  EXPECT_NE(digest_with("--set train.seed=1"), expected);
}

TEST(Program, TrainsOnThroughTheDeathsOfItsWorkers) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer has a thread of its own, and the program forks";
#endif
  const TinyProblem problem;
  const json expected = json_of(problem.run("train r.toml --json --quiet --executor reference"));
  const ProgramResult result = problem.run(
      "train r.toml --json --processes 2 --inject kill:worker=1,step=2 --inject throw:step=3 "
      "--set train.on_exception=retry");
  const json trained = json_of(result);
  EXPECT_EQ(trained.at("digest"), expected.at("digest"));
  EXPECT_EQ(trained.at("restarts"), 1);
  EXPECT_EQ(trained.at("retries"), 1);
  EXPECT_FALSE(trained.at("interrupted"));
  EXPECT_THAT(result.err, HasSubstr("executors: 2 processes on "));
  EXPECT_THAT(result.err, HasSubstr("viva: warning: step 2: executor 1 (pid "));
  EXPECT_THAT(result.err, HasSubstr("viva: worker processes that were replaced: 1"));
}

TEST(Program, ABatchThatEndsTrainingCanBeReplayed) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer has a thread of its own, and the program forks";
#endif
  const TinyProblem problem;
  const ProgramResult result =
      problem.run("train r.toml --quiet --processes 2 --out kept --inject kill:worker=1,step=2,times=3");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  const std::string file = "kept/failed-batch-7.safetensors";
  EXPECT_THAT(result.err, HasSubstr("worker 1 died in batch 7: signal 9: step 2, samples "));
  EXPECT_THAT(result.err, HasSubstr(file));
  EXPECT_THAT(problem.files(), testing::Contains(file));
  // Without --out it lies in the current directory, and nothing else was written.
  std::vector<std::string> files = TinyProblem().files();
  files.insert(files.begin(), {"failed-batch-7.safetensors"});
  const TinyProblem another;
  EXPECT_EQ(another.run("train r.toml --quiet --processes 2 --inject kill:worker=1,step=2,times=3").exit_code, 1);
  EXPECT_THAT(another.files(), testing::UnorderedElementsAreArray(files));

  const ProgramResult replayed = problem.run("replay r.toml " + file);
  EXPECT_EQ(replayed.exit_code, 0) << replayed.err;
  EXPECT_THAT(replayed.err, HasSubstr("step 2, worker 1, batch 7: samples "));
  EXPECT_THAT(replayed.out, testing::MatchesRegex("loss [0-9.]+, norm of the gradient [0-9.]+\n"));
  EXPECT_EQ(problem.run("replay r.toml " + file + " --set train.seed=7").exit_code, 2);
  const ProgramResult other = problem.run("train r.toml --quiet --steps 1 --out kept && '" VIVA_PROGRAM
                                          "' replay r.toml kept/params.safetensors");
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.err, HasSubstr("kept/params.safetensors: is no file of a failed batch"));
}

// Shell words that wait until the program in the background listens to SIGTERM (bit 14), however slowly it starts.
const std::string kUntilItListens =
    "until [ ! -d /proc/$child ] || [ $((0x$(sed -n 's/^SigCgt:.//p' /proc/$child/status) & 0x4000)) -ne 0 ]; "
    "do sleep 0.05; done; ";

// What the thread sanitizer has no eyes for: processes that a process forked.
std::vector<std::string> ways_to_train() {
#if defined(__SANITIZE_THREAD__)
  return {"--executor reference", "--threads 2"};
#else
  return {"--executor reference", "--threads 2", "--processes 2"};
#endif
}

// Each way to train ends after its step, keeps what it has, and says what has ended it.
TEST(Program, ASignalEndsTheTrainingAfterAStep) {
  const TinyProblem problem;
  const auto end_by = [&](const std::string& signal, const std::string& options) {
    return problem.run("train r.toml --json --steps 100000000 --out kept " + options + " & child=$!; " +
                       kUntilItListens + "kill -" + signal + " $child; wait $child");
  };
  for (const std::string& options : ways_to_train()) {
    const ProgramResult result = end_by("TERM", options);
    EXPECT_EQ(result.exit_code, 128 + SIGTERM) << options << result.err;
    const json trained = json::parse(last_line(result.out));
    EXPECT_TRUE(trained.at("interrupted"));
    EXPECT_GT(trained.at("steps"), 0);
    EXPECT_THAT(result.err, HasSubstr("viva: signal 15 has ended the training after step "));
    EXPECT_THAT(problem.files(), testing::Contains("kept/params.safetensors"));
  }
  EXPECT_EQ(end_by("TERM", ways_to_train().back() + " --inject slow=500ms").exit_code, 128 + SIGTERM);
}

TEST(Program, ASecondInterruptEndsTheProgramAtOnce) {
  const TinyProblem problem;
  const auto end_of = [&](const std::string& signals) {
    // A shell without job control starts what is in the background with SIGINT ignored.
    return problem.run("--version >&2; env --default-signal=INT '" VIVA_PROGRAM "' train r.toml " +
                       ways_to_train().back() + " --inject slow=60s & child=$!; " + kUntilItListens + signals +
                       "; wait $child");
  };
  for (const char* signals : {"kill -INT $child; sleep 0.2; kill -INT $child",
                              "kill -TERM $child; sleep 0.2; kill -TERM $child; sleep 0.2; kill -INT $child"}) {
    const ProgramResult result = end_of(signals);
    EXPECT_EQ(result.exit_code, 128 + SIGINT) << signals;
    EXPECT_EQ(result.out, "");
  }
}

TEST(Program, TrainsAsTheReferenceDoesWithTheRecipesSettings) {
  const TinyProblem problem;
  const nn::Model model = nn::mlp({4, 5, 3});
  const auto result = distributed::train_synchronous(
      {.num_workers = 2, .batches_per_step = 3, .aggregation = distributed::GradAggregation::kAverage, .epochs = 2},
      model.initial_params(7), optim::adamw(0.25, 0.5),
      data::DataLoader(data::load_idx_dataset(problem.file("train_images"), problem.file("train_labels")),
                       {.batch_size = 3, .shuffle = true, .drop_last = true, .seed = 7}),
      nn::classifier_loss(model), -1);
  std::string recipe = problem.read("r.toml");
  recipe.erase(recipe.find("[optimizer]"));
  problem.write("other.toml", recipe +
                                  "[optimizer]\nkind = 'adamw'\nlr = 0.25\nweight_decay = 0.5\n"
                                  "[train]\nworkers = 2\nbatches_per_step = 3\naggregation = 'average'\nepochs = 2\n"
                                  "batch_size = 3\ndrop_last = true\nseed = 7\n");
  const json trained = json_of(problem.run("train other.toml --quiet --json"));
  EXPECT_EQ(trained.at("digest"), io::digest(result.final_params));
  EXPECT_EQ(trained.at("steps"), result.steps);
  EXPECT_EQ(trained.at("loss"), result.last_loss);
  EXPECT_EQ(trained.at("total_loss"), result.total_loss);
}

TEST(Program, MoreThreadsThanCpusIsOneWarning) {
  const TinyProblem problem;
  const ProgramResult result = problem.run("train r.toml --quiet --threads 1024 --set train.workers=1");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, StartsWith("viva: warning: 1024 "));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
}

TEST(Program, StoredParametersHaveThePrintedDigestAndAccuracy) {
  const TinyProblem problem;
  const json trained = json_of(problem.run("train r.toml --json --quiet --out made/out"));
  const ProgramResult digest = problem.run("digest made/out/params.safetensors");
  EXPECT_EQ(digest.out, trained.at("digest").get<std::string>() + "\n");
  const json evaluated = json_of(problem.run("eval r.toml made/out/params.safetensors --json"));
  for (const char* key : {"test_loss", "test_accuracy", "digest"}) EXPECT_EQ(evaluated.at(key), trained.at(key)) << key;
  EXPECT_EQ(evaluated.at("test_samples"), 7);
  EXPECT_THAT(problem.run("eval r.toml made/out/params.safetensors").out, HasSubstr(" on 7 samples\ndigest "));
}

TEST(Program, EvaluationNeedsFittingParameters) {
  const TinyProblem problem;
  problem.run("train r.toml --quiet --out out");
  const ProgramResult other_shape = problem.run("eval r.toml out/params.safetensors --set model.hidden=[6]");
  EXPECT_EQ(other_shape.exit_code, 1);
  EXPECT_THAT(other_shape.err, HasSubstr("expected 'layers.0.weight' of shape [6, 4], found [5, 4]"));
  EXPECT_THAT(problem.run("eval r.toml out/params.safetensors --set model.hidden=[5,3]").err,
              HasSubstr("'layers.2.weight' is missing"));
  EXPECT_THAT(problem.run("eval r.toml out/params.safetensors --set model.hidden=[]").err,
              HasSubstr("expected 'layers.0.weight' of shape [3, 4], found [5, 4]"));
}

TEST(Program, HelpAndVersionGoToStdout) {
  const TinyProblem problem;
  for (const char* arguments : {"--help", "train --help", "eval --help", "digest --help"}) {
    const ProgramResult result = problem.run(arguments);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.out, HasSubstr("Usage: viva"));
    EXPECT_EQ(result.err, "");
  }
  EXPECT_THAT(problem.run("--version").out, MatchesRegex("viva [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Program, AFullDiskIsAnError) {
  const TinyProblem problem;
  const ProgramResult result = problem.run("train r.toml --quiet --threads 1 >/dev/full");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err, "viva: error: standard output: cannot write the results: No space left on device\n");
}

TEST(Program, AReaderThatHasGoneIsAnError) {
  const TinyProblem problem;
  // The pipe's reader has ended before the program begins to write.
  EXPECT_THAT(problem.run("train r.toml --quiet --threads 1 2>err | true; cat err").out,
              testing::AnyOf("", "viva: error: standard output: cannot write the results: Broken pipe\n"));
  const ProgramResult closed = problem.run("train r.toml --quiet --threads 1 >&-");
  EXPECT_EQ(closed.exit_code, 1);
  EXPECT_THAT(closed.err, HasSubstr("cannot write the results: Bad file descriptor"));
}

}  // namespace
}  // namespace viva::cli
