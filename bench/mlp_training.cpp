#include "bench/mlp_training.h"

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include "bench/measure.h"
#include "viva/base/error.h"
#include "viva/data/idx.h"
#include "viva/distributed/trainer.h"
#include "viva/nn/classifier.h"
#include "viva/nn/mlp.h"

namespace viva::bench {
namespace {

constexpr int kWarmUpSteps = 50;
constexpr std::int64_t kWorkers = 2, kBatchSize = 64;
// Chance is 2.3; a perceptron that learns is far below this after some hundred steps.
constexpr double kLearntLoss = 1.0;

data::Dataset fashion_mnist() {
  const std::string directory = "/usr/share/datasets/fashion-mnist/";
  return data::load_idx_dataset(directory + "train-images-idx3-ubyte.gz", directory + "train-labels-idx1-ubyte.gz");
}

}  // namespace

MlpTraining::MlpTraining(int steps)
    : dataset_(fashion_mnist()), sizes_{784, 256, 128, 10}, model_(nn::mlp(sizes_)), steps_(steps) {}

double MlpTraining::measure(int threads) {
  const OnCpus pinned(threads);
  const data::DataLoader loader(dataset_, {.batch_size = kBatchSize, .shuffle = true, .seed = 1});
  distributed::TrainerOptions options;
  options.executors = threads;
  distributed::Trainer trainer({.num_workers = kWorkers}, model_.initial_params(1), optim::sgd_momentum(0.05, 0.9),
                               loader, nn::classifier_loss(model_), options);
  trainer.run(kWarmUpSteps);
  const auto begin = std::chrono::steady_clock::now();
  const std::int64_t steps = trainer.run(steps_);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  if (steps != steps_) throw Error(fmt::format("bench: mlp_training: {} of {} steps were made", steps, steps_));
  distributed::TrainResult result = trainer.result();
  check(result.last_loss, std::move(result.final_params));
  return static_cast<double>(steps_ * kWorkers * kBatchSize) / seconds.count();
}

double MlpTraining::flops_per_sample() const {
  double flops = 0;
  for (std::size_t layer = 0; layer + 1 < sizes_.size(); ++layer) {
    // The first layer's input needs no gradient.
    const double products = layer == 0 ? 2 : 3;
    flops += products * 2 * static_cast<double>(sizes_[layer] * sizes_[layer + 1]);
  }
  return flops;
}

void MlpTraining::check(double loss, std::vector<Param> params) {
  if (!(loss < kLearntLoss)) throw Error(fmt::format("bench: mlp_training: it did not learn, the loss is {}", loss));
  if (first_result_.empty()) {
    first_result_ = std::move(params);
    return;
  }
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (!bitwise_equal(params[i].value, first_result_[i].value)) {
      throw Error("bench: mlp_training: two runs gave different bits");
    }
  }
}

}  // namespace viva::bench
