// Parameters that viva trained give the same logits in PyTorch, and those that PyTorch made give the same in viva.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "cli/model.h"
#include "cli/problem.h"
#include "tests/cli/tiny_problem.h"
#include "viva/data/idx.h"
#include "viva/data/npy.h"
#include "viva/nn/classifier.h"

namespace viva::cli {
namespace {

using Elements = std::vector<double>;

Elements elements(const Tensor& tensor) {
  const Tensor wide = tensor.to(Dtype::kFloat64);
  return {wide.values<double>().begin(), wide.values<double>().end()};
}

double largest_difference(const Elements& got, const Elements& expected) {
  EXPECT_EQ(got.size(), expected.size());
  double largest = 0;
  for (std::size_t i = 0; i < std::min(got.size(), expected.size()); ++i) {
    const double difference = std::abs(got[i] - expected[i]);
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

Elements softmax(const Tensor& logits) {
  Elements all;
  for (std::int64_t i = 0; i < logits.length(); ++i) {
    Elements row = elements(logits.row(i));
    double sum = 0;
    for (double& x : row) sum += x = std::exp(x);
    for (const double x : row) all.push_back(x / sum);
  }
  return all;
}

class Exchange : public testing::Test {
 protected:
  void SetUp() override {
    const char* find = "import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, ('torch', 'tomllib'))))";
    if (std::system((std::string("/usr/bin/python3 -c \"") + find + "\"").c_str()) != 0) {
      GTEST_SKIP() << "PyTorch cannot be imported (./dev setup rivals installs it)";
    }
    if (!std::filesystem::exists(kImages)) GTEST_SKIP() << "Debian's package dataset-fashion-mnist is not installed";
  }

  // What `exchange.py ARGUMENTS` prints.
  std::string python(const std::string& arguments) const {
    const std::string script = "/usr/bin/python3 -B '" VIVA_SOURCE_DIRECTORY "/bench/rivals/exchange.py' ";
    const std::string command = "cd '" + problem_.file("") + "' && OMP_NUM_THREADS=1 " + script + arguments + " >out";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return problem_.read("out");
  }

  std::string viva(const std::string& arguments) const {
    const ProgramResult result = problem_.run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }

  void write_npy(const std::string& name, const Tensor& tensor) const {
    const auto bytes = data::npy_bytes(tensor);
    problem_.write(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  // PyTorch's logits for `inputs`, which is what `scaled` is to viva's model; viva's are the same.
  Tensor expect_the_same_logits(const std::string& recipe, const nn::Model& model, const std::string& params,
                                const Tensor& inputs, const Tensor& scaled) const {
    write_npy("inputs.npy", inputs);
    python("predict " + recipe + " " + params + " inputs.npy logits.npy");
    Tensor expected = data::read_npy(problem_.file("logits.npy"));
    Arena arena;
    const Tensor logits = nn::outputs(model, load_params(model, problem_.file(params)), scaled, arena);
    const double difference = largest_difference(elements(logits), elements(expected));
    EXPECT_LE(difference, kBound);
    std::cout << "largest difference of logits " << difference << "\n";
    return expected;
  }

  // The model of a recipe for images.
  void expect_the_same_images(const std::string& name, const std::string& params, const std::string& setting) const {
    const std::string recipe = recipe_of(name);
    const JudgedProblem judged = load_judged_problem(load_recipe(recipe, std::vector{setting}));
    const data::Batch batch = judged.dataset.make_batch(kSamples);
    judged.dataset.gather(first_samples(), batch);
    const Tensor images = data::read_idx(kImages).slice(0, kSamples);
    const Tensor logits = expect_the_same_logits(recipe, judged.model.model, params, images, batch.inputs);

    viva("predict " + recipe + " " + params + " inputs.npy --probabilities --out p.npy --set " + setting);
    const Elements probabilities = elements(data::read_npy(problem_.file("p.npy")));
    const double difference = largest_difference(probabilities, softmax(logits));
    EXPECT_LE(difference, kBound);
    std::cout << "largest difference of probabilities " << difference << "\n";
  }

  // The language model, and its loss on the whole validation text.
  void expect_the_same_text(const std::string& params) const {
    const std::string recipe = recipe_of("gpt");
    const JudgedProblem judged = load_judged_problem(load_recipe(recipe));
    const data::Batch batch = judged.dataset.make_batch(kSamples);
    judged.dataset.gather(first_samples(), batch);
    expect_the_same_logits(recipe, judged.model.model, params, batch.inputs, batch.inputs);

    const double expected = std::stod(python("eval " + recipe + " " + params));
    const auto result = nlohmann::json::parse(viva("eval " + recipe + " " + params + " --json"));
    const double difference = std::abs(result.at("validation_loss").get<double>() - expected);
    EXPECT_LE(difference, kBound);
    std::cout << "difference of losses " << difference << "\n";
  }

  static std::string recipe_of(const std::string& model) {
    return VIVA_SOURCE_DIRECTORY "/examples/recipes/" + model + ".toml";
  }

  static std::vector<std::int64_t> first_samples() {
    std::vector<std::int64_t> samples(kSamples);
    std::iota(samples.begin(), samples.end(), 0);
    return samples;
  }

  const TinyProblem problem_;
  static constexpr const char* kImages = "/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz";
  static constexpr std::int64_t kSamples = 100;
  static constexpr double kBound = 1e-5;
};

TEST_F(Exchange, ThePerceptronThatVivaTrained) {
  viva("train " + recipe_of("mlp") + " --steps 30 --quiet --out .");
  expect_the_same_images("mlp", "params.safetensors", "train.seed=1");
}

TEST_F(Exchange, ThePerceptronThatPyTorchMade) {
  python("fresh " + recipe_of("mlp") + " fresh.safetensors");
  expect_the_same_images("mlp", "fresh.safetensors", "train.seed=1");
}

TEST_F(Exchange, TheConvolutionalNetworkThatVivaTrained) {
  viva("train " + recipe_of("cnn") + " --steps 20 --quiet --out .");
  for (const char* algorithm : {"direct", "winograd"}) {
    expect_the_same_images("cnn", "params.safetensors", std::string("model.convolution=") + algorithm);
  }
}

TEST_F(Exchange, TheConvolutionalNetworkThatPyTorchMade) {
  python("fresh " + recipe_of("cnn") + " fresh.safetensors");
  expect_the_same_images("cnn", "fresh.safetensors", "model.convolution=direct");
}

TEST_F(Exchange, TheLanguageModelThatVivaTrained) {
  viva("train " + recipe_of("gpt") + " --steps 20 --quiet --out .");
  expect_the_same_text("params.safetensors");
}

TEST_F(Exchange, TheLanguageModelThatPyTorchMade) {
  python("fresh " + recipe_of("gpt") + " fresh.safetensors");
  expect_the_same_text("fresh.safetensors");
}

}  // namespace
}  // namespace viva::cli
