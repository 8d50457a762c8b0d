// The program on every kind of data and model: training, validation, prediction and text.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/tiny_problem.h"
#include "viva/data/npy.h"

namespace viva::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// 30 grey images of 8 x 8 with labels 0 to 2, and a recipe for the convolutional network.
void write_cnn(const TinyProblem& problem) {
  std::string pixels;
  for (int i = 0; i < 30 * 64; ++i) pixels += static_cast<char>(i * 37 % 251);
  problem.write_idx("images", {30, 8, 8}, pixels);
  problem.write_labels("labels", 30);
  problem.write("cnn.toml",
                "[data]\ntrain_images = 'images'\ntrain_labels = 'labels'\ntest_images = 'images'\n"
                "test_labels = 'labels'\n[model]\nkind = 'cnn'\n[optimizer]\nkind = 'adam'\nlr = 0.001\n"
                "[train]\nworkers = 2\nbatch_size = 4\nepochs = 2\n");
}

void write_text(const TinyProblem& problem) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "abcdefgh\n";
  problem.write("text", text);
  problem.write("gpt.toml",
                "[data]\ntext = 'text'\nvalidation_fraction = 0.2\n[model]\nkind = 'gpt'\ncontext = 8\nlayers = 1\n"
                "heads = 2\nchannels = 16\n[optimizer]\nkind = 'adamw'\nlr = 0.01\n"
                "[train]\nworkers = 2\nbatch_size = 8\nsteps = 60\nevaluate_every = 20\n");
}

TEST(Models, ACnnTrainsToTheSameDigestOnAnyExecutors) {
  const TinyProblem problem;
  write_cnn(problem);
  const auto one = json_of(problem.run("train cnn.toml --json --quiet --threads 1"));
  EXPECT_EQ(one.at("steps"), 8);
  EXPECT_EQ(json_of(problem.run("train cnn.toml --json --quiet --threads 2")).at("digest"), one.at("digest"));
  EXPECT_EQ(json_of(problem.run("train cnn.toml --json --quiet --executor reference")).at("digest"), one.at("digest"));
  const auto plan = problem.run("train cnn.toml --steps 0 --set model.convolution=direct");
  EXPECT_THAT(plan.err, HasSubstr("cnn for images [8, 8], 3 classes, direct convolutions"));
  // Augmentation changes the result, and not with the executors.
  const std::string augmented = "train cnn.toml --json --quiet --set data.flip=true --set data.crop_padding=2";
  const auto digest = json_of(problem.run(augmented + " --threads 1")).at("digest");
  EXPECT_NE(digest, one.at("digest"));
  EXPECT_EQ(json_of(problem.run(augmented + " --threads 2")).at("digest"), digest);
}

TEST(Models, PredictionsAreClassesOrProbabilities) {
  const TinyProblem problem;
  write_cnn(problem);
  ASSERT_EQ(problem.run("train cnn.toml --out o --quiet").exit_code, 0);
  const std::string predict = "predict cnn.toml o/params.safetensors images";
  const auto classes = problem.run(predict);
  EXPECT_EQ(classes.exit_code, 0) << classes.err;
  EXPECT_EQ(std::ranges::count(classes.out, '\n'), 30);
  const auto rows = problem.run(predict + " --probabilities");
  EXPECT_EQ(std::ranges::count(rows.out, ','), 60);

  ASSERT_EQ(problem.run(predict + " --probabilities --out p.npy").exit_code, 0);
  const Tensor stored = data::read_npy(problem.file("p.npy"));
  ASSERT_EQ(stored.shape(), (Shape{30, 3}));
  for (std::int64_t i = 0; i < 30; ++i) {
    const Tensor row = stored.row(i);
    const auto p = row.values<float>();
    EXPECT_NEAR(p[0] + p[1] + p[2], 1, 1e-6);
    const auto likeliest = std::ranges::max_element(p) - p.begin();
    EXPECT_EQ(classes.out[static_cast<std::size_t>(2 * i)], static_cast<char>('0' + likeliest));
  }

  const auto other = problem.run("predict cnn.toml o/params.safetensors labels");
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.err, HasSubstr("labels: expected images (n, …), found shape [30]"));
}

// The same pixels as NPY and as IDX train to the same bits.
TEST(Models, NpyImagesAreAsGoodAsIdx) {
  const TinyProblem problem;
  write_cnn(problem);
  const Tensor images = Tensor::zeros({30, 8, 8}, Dtype::kUInt8), labels = Tensor::zeros({30}, Dtype::kInt64);
  int i = 0;
  for (auto& x : images.mutable_values<std::uint8_t>()) x = static_cast<std::uint8_t>(i++ * 37 % 251);
  i = 0;
  for (auto& y : labels.mutable_values<std::int64_t>()) y = i++ % 3;
  const auto text = [](const std::vector<std::byte>& bytes) {
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  problem.write("images.npy", text(data::npy_bytes(images)));
  problem.write("labels.npy", text(data::npy_bytes(labels)));
  const auto from_idx = json_of(problem.run("train cnn.toml --json --quiet"));
  const std::string npy = " --set data.train_images=images.npy --set data.train_labels=labels.npy";
  EXPECT_EQ(json_of(problem.run("train cnn.toml --json --quiet" + npy)).at("digest"), from_idx.at("digest"));
}

TEST(Models, ATextIsLearntAndWritten) {
  const TinyProblem problem;
  write_text(problem);
  const auto result = json_of(problem.run("train gpt.toml --json --quiet --out o"));
  EXPECT_LT(result.at("validation_loss").get<double>(), 1.0);
  EXPECT_EQ(json_of(problem.run("train gpt.toml --json --quiet --executor reference")).at("digest"),
            result.at("digest"));
  const auto text = problem.run("sample gpt.toml o/params.safetensors --prompt abc --length 12 --temperature 0");
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.out, "abcdefgh\nabcdef\n");
  const auto judged = json_of(problem.run("eval gpt.toml o/params.safetensors --json"));
  EXPECT_EQ(judged.at("validation_loss"), result.at("validation_loss"));

  const auto foreign = problem.run("sample gpt.toml o/params.safetensors --prompt abX");
  EXPECT_EQ(foreign.exit_code, 2);
  EXPECT_THAT(foreign.err, HasSubstr("--prompt: "));
  EXPECT_THAT(foreign.err, HasSubstr("'X'"));
}

TEST(Models, CsvRowsAreSamples) {
  const TinyProblem problem;
  std::string rows = "a,kind,b\n";
  for (int i = 0; i < 40; ++i) rows += std::to_string(i % 2) + "," + std::to_string(i % 2) + ",0.5\n";
  problem.write("rows.csv", rows);
  problem.write("csv.toml",
                "[data]\ntrain_csv = 'rows.csv'\ntest_csv = 'rows.csv'\ntarget_column = 'kind'\n"
                "[model]\nkind = 'mlp'\nhidden = [8]\n[optimizer]\nkind = 'adam'\nlr = 0.1\n"
                "[train]\nworkers = 2\nbatch_size = 5\nepochs = 10\n");
  EXPECT_EQ(json_of(problem.run("train csv.toml --json --quiet")).at("test_accuracy"), 1.0);
  const auto missing = problem.run("train csv.toml --set data.target_column=c");
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("target_column"));
}

TEST(Models, TrainingEndsWhereValidationGetsNoBetter) {
  const TinyProblem problem;
  const std::string base = "train r.toml --json --set data.validation_fraction=0.5 --set optimizer.lr=0 ";
  // Nothing is learnt, so the first look is the best.
  const auto result = problem.run(base + "--set train.patience=2 --set train.evaluate_every=1 --set train.epochs=50");
  const auto json = json_of(result);
  EXPECT_EQ(json.at("steps"), 3);
  EXPECT_EQ(json.at("best_step"), 1);
  EXPECT_THAT(result.err, HasSubstr("step 2: validation loss"));
  const auto reference = json_of(problem.run(base + "--set train.patience=2 --set train.evaluate_every=1 "
                                                    "--set train.epochs=50 --executor reference --quiet"));
  EXPECT_EQ(reference.at("steps"), 3);
  EXPECT_EQ(reference.at("digest"), json.at("digest"));
}

// A learning rate that ruins everything after the first look: the best parameters are the result.
TEST(Models, TheBestParametersAreKept) {
  const TinyProblem problem;
  const std::string base =
      "train r.toml --json --quiet --set data.validation_fraction=0.5 --set train.evaluate_every=1 ";
  const auto first = json_of(problem.run(base + "--steps 1"));
  const auto ruined = json_of(problem.run(base + "--steps 4 --set train.keep_best=true --set optimizer.kind=sgd "
                                                 "--set schedule.kind=step --set schedule.period=1 "
                                                 "--set schedule.gamma=1000"));
  EXPECT_EQ(ruined.at("best_step"), 1);
  EXPECT_GT(ruined.at("validation_loss"), ruined.at("best_validation_loss"));
  EXPECT_EQ(ruined.at("best_validation_loss"), first.at("validation_loss"));
}

TEST(Models, WhatDoesNotFitTogetherIsNamed) {
  const TinyProblem problem;
  write_text(problem);
  const auto error = [&](const std::string& arguments) {
    const auto result = problem.run(arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments << result.err;
    return result.err;
  };
  EXPECT_THAT(error("train r.toml --set model.kind=cn"), HasSubstr("did you mean \"cnn\"?"));
  EXPECT_THAT(error("train r.toml --set model.kind=gpt"), HasSubstr("model.hidden: gpt has no such setting, only mlp"));
  EXPECT_THAT(error("train gpt.toml --set model.heads=3"), HasSubstr("model.heads: expected a divisor of the 16"));
  EXPECT_THAT(error("train gpt.toml --set data.train_images=x"), HasSubstr("given beside data.text"));
  EXPECT_THAT(error("train r.toml --set train.patience=2"), HasSubstr("train.patience: needs validation data"));
  EXPECT_THAT(error("train r.toml --set data.validation_fraction=1.5"), HasSubstr("between 0 and 1"));
  EXPECT_THAT(error("train r.toml --set data.deviation=0"), HasSubstr("data.deviation: expected a positive number"));
  EXPECT_THAT(error("sample r.toml p"), HasSubstr("data.text: missing"));
  problem.write("short", "abc");
  const auto result = problem.run("train gpt.toml --set data.text=short");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("short: expected more characters than the model's context of 8, found 1"));
}

}  // namespace
}  // namespace viva::cli
