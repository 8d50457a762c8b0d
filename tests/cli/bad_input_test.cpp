// Wrong usage, recipes and data: one line on stderr, nothing on stdout, nothing written, the right exit code.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/cli/tiny_problem.h"

namespace viva::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr int kRuntimeError = 1;
constexpr int kUsageError = 2;

void expect_failure(const TinyProblem& problem, const std::string& arguments, int exit_code,
                    const std::string& message) {
  const std::vector<std::string> before = problem.files();
  const ProgramResult result = problem.run(arguments);
  EXPECT_EQ(result.exit_code, exit_code) << arguments;
  EXPECT_THAT(result.err, StartsWith("viva: error: ")) << arguments;
  EXPECT_THAT(result.err, HasSubstr(message)) << arguments;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_EQ(result.out, "") << arguments;
  EXPECT_EQ(problem.files(), before) << arguments;
}

TEST(BadInput, Usage) {
  const TinyProblem problem;
  expect_failure(problem, "", kUsageError, "expected train, eval, predict, sample, replay or digest; see viva --help");
  expect_failure(problem, "trian r.toml", kUsageError, "trian");
  expect_failure(problem, "train", kUsageError, "RECIPE is required");
  expect_failure(problem, "train r.toml --theads 3", kUsageError, "--theads");
  expect_failure(problem, "train r.toml other.toml", kUsageError, "other.toml");
  expect_failure(problem, "train r.toml --executor gpu", kUsageError, "--executor");
  expect_failure(problem, "eval r.toml", kUsageError, "PARAMS is required");
  expect_failure(problem, "digest", kUsageError, "PARAMS is required");
}

TEST(BadInput, Threads) {
  const TinyProblem problem;
  expect_failure(problem, "train r.toml --threads 0", kUsageError,
                 "--threads: expected a number from 1 to 1024, found 0");
  expect_failure(problem, "train r.toml --threads 100000", kUsageError, "found 100000");
  expect_failure(problem, "train r.toml --threads=-1", kUsageError, "found -1");
  expect_failure(problem, "train r.toml --threads many", kUsageError, "--threads");
  expect_failure(problem, "train r.toml --threads 2 --executor reference", kUsageError, "leave --threads out");
  expect_failure(problem, "train r.toml --steps=-1", kUsageError, "--steps: expected a number from 0");
}

TEST(BadInput, Processes) {
  const TinyProblem problem;
  expect_failure(problem, "train r.toml --processes 0", kUsageError, "--processes: expected a number from 1 to 1024");
  expect_failure(problem, "train r.toml --processes 2 --threads 2", kUsageError, "--processes: given beside --threads");
  expect_failure(problem, "train r.toml --processes 2 --executor threads", kUsageError, "give their number as --thre");
  expect_failure(problem, "train r.toml --threads 2 --executor processes", kUsageError, "their number as --processes");
  expect_failure(problem, "train r.toml --processes 2 --executor reference", kUsageError, "leave --processes out");
  expect_failure(problem, "train r.toml --processes 2 --min-processes 3", kUsageError,
                 "--min-processes: expected a number from 0 to 2");
  expect_failure(problem, "train r.toml --min-processes 1", kUsageError, "add --processes");
  expect_failure(problem, "train r.toml --step-timeout 1e300", kUsageError, "and at most");
  expect_failure(problem, "train r.toml --step-timeout 0", kUsageError, "--step-timeout: expected a number of seconds");
  expect_failure(problem, "train r.toml --inject boom", kUsageError, "expected kill, hang, throw, nan, slow or random");
  expect_failure(problem, "train r.toml --inject kill:step=1", kUsageError, "add --processes");
  expect_failure(problem, "train r.toml --set train.on_exception=\"retyr\"", kUsageError, "did you mean \"retry\"?");
}

TEST(BadInput, AWorkerThatFails) {
  const TinyProblem problem;
  expect_failure(problem, "train r.toml --quiet --threads 2 --inject throw:worker=1,step=2", kRuntimeError,
                 "step 2, worker 1, batch 7: an exception was injected");
}

TEST(BadInput, Recipe) {
  const TinyProblem problem;
  problem.write("typo.toml", problem.read("r.toml") + "wokers = 3\n");
  expect_failure(problem, "train typo.toml", kUsageError,
                 "typo.toml:19: train.wokers: unknown key; did you mean train.workers?");
  problem.write("type.toml", problem.read("r.toml") + "seed = \"one\"\n");
  expect_failure(problem, "train type.toml", kUsageError,
                 "type.toml:19: train.seed: expected a whole number, found the string \"one\"");
  expect_failure(problem, "train r.toml --set train.workers=0", kUsageError, "train.workers: expected a whole number");
  expect_failure(problem, "train r.toml --set train.batch_size=-64", kUsageError, "train.batch_size");
  expect_failure(problem, "train r.toml --set optimizer.lr=nan", kUsageError, "optimizer.lr: expected a number >= 0");
  expect_failure(problem, "train r.toml --set train.batch_size=99 --set train.drop_last=true", kUsageError,
                 "train.drop_last: drops the only batch");
  expect_failure(problem, "train none.toml", kRuntimeError, "none.toml: cannot open it: No such file or directory");
  expect_failure(problem, "train .", kRuntimeError, "expected a regular file, found a directory");
}

TEST(BadInput, Data) {
  const TinyProblem problem;
  const auto expect_error = [&](const std::string& overrides, const std::string& message) {
    expect_failure(problem, "train r.toml --out made " + overrides, kRuntimeError, message);
  };
  expect_error("--set data.train_images=none", "none: ");
  expect_error("--set data.test_labels=.", ".: ");
  problem.write("damaged", "this is no IDX file");
  expect_error("--set data.train_images=damaged", "damaged: at byte 0: ");
  problem.write_labels("labels_9", 9);
  expect_error("--set data.train_labels=labels_9", "labels_9: found 9 labels, but ");
  problem.write_images("empty_images", 0);
  problem.write_labels("empty_labels", 0);
  expect_error("--set data.train_images=empty_images --set data.train_labels=empty_labels", "empty_images: ");
  problem.write_idx("wide_images", {7, 2, 3}, std::string(42, '\1'));
  expect_error("--set data.test_images=wide_images", "wide_images: expected samples of shape [2, 2], as in ");
}

TEST(BadInput, Labels) {
  const TinyProblem problem;
  expect_failure(problem, "train r.toml --set model.classes=2", kRuntimeError,
                 "train_labels: expected labels from 0 to 1, found 2 at index 2, which is outside model.classes");
  problem.write_idx("label_3", {7}, std::string("\0\1\2\0\3\0\0", 7));
  expect_failure(problem, "train r.toml --set data.test_labels=label_3", kRuntimeError,
                 "label_3: expected labels from 0 to 2, found 3 at index 4");
  // An int32 label of 2^24 is damage, and no reason to make a model with as many classes.
  problem.write("huge_label", std::string("\0\0\x0c\1\0\0\0\x01\1\0\0\0", 12));
  problem.write_images("one_image", 1);
  expect_failure(problem, "train r.toml --set data.train_images=one_image --set data.train_labels=huge_label",
                 kRuntimeError, "found 16777216 at index 0; give model.classes where there are more");
}

TEST(BadInput, Output) {
  const TinyProblem problem;
  problem.write("file", "");
  expect_failure(problem, "train r.toml --out file", kRuntimeError, "file: ");
  expect_failure(problem, "train r.toml --out file/below", kRuntimeError,
                 "file/below: cannot make the output directory");
  expect_failure(problem, "train r.toml --out /proc/none", kRuntimeError,
                 "/proc/none: cannot make the output directory");
  std::filesystem::create_directories(problem.file("taken/params.safetensors"));
  expect_failure(problem, "train r.toml --out taken", kRuntimeError, "expected a file, found a directory");
}

TEST(BadInput, TrainingThatFailsLeavesNothing) {
  const TinyProblem problem;
  const ProgramResult result = problem.run("train r.toml --quiet --out made --set optimizer.lr=1e300");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, StartsWith("viva: error: step "));
  EXPECT_EQ(result.out, "");
  const std::vector<std::string> files = problem.files();
  EXPECT_EQ(std::count(files.begin(), files.end(), "made"), 0);
}

TEST(BadInput, Parameters) {
  const TinyProblem problem;
  problem.write("damaged", "this is no safetensors file");
  expect_failure(problem, "digest damaged", kRuntimeError, "damaged: at byte 0: expected the length of a safetensors");
  expect_failure(problem, "digest none", kRuntimeError, "none: cannot open it");
  expect_failure(problem, "eval r.toml damaged", kRuntimeError, "damaged: at byte 0");
  problem.write("control", std::string("\x0c\0\0\0\0\0\0\0{\"a\\n\":null}", 20));
  expect_failure(problem, "digest control", kRuntimeError, "expected an object for 'a?', found null");
}

}  // namespace
}  // namespace viva::cli
