#include "bench/training.h"

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <utility>

#include "bench/measure.h"
#include "viva/base/error.h"
#include "viva/data/idx.h"
#include "viva/data/text.h"
#include "viva/distributed/trainer.h"
#include "viva/nn/classifier.h"
#include "viva/nn/cnn.h"
#include "viva/nn/gpt.h"
#include "viva/nn/mlp.h"

namespace viva::bench {
namespace {

data::Dataset fashion_mnist() {
  const std::string directory = "/usr/share/datasets/fashion-mnist/";
  return data::load_idx_dataset(directory + "train-images-idx3-ubyte.gz", directory + "train-labels-idx1-ubyte.gz");
}

// A matrix product in forward, and two in backward; one where the input needs no gradient.
double products(double inputs, double outputs, bool first = false) { return (first ? 2 : 3) * 2 * inputs * outputs; }

Problem mlp() {
  const double flops = products(784, 256, true) + products(256, 128) + products(128, 10);
  return {"mlp", nn::mlp({784, 256, 128, 10}), fashion_mnist(), optim::sgd_momentum(0.05, 0.9), 64, flops, 600, 50,
          1.0};
}

Problem cnn() {
  const double flops =
      products(9, 32 * 26 * 26, true) + products(32 * 9, 64 * 24 * 24) + products(9216, 128) + products(128, 10);
  return {"cnn", nn::cnn(), fashion_mnist(), optim::adam(1e-3), 64, flops, 60, 10, 1.0};
}

Problem gpt() {
  const data::Text text = data::load_text(std::vector<std::string>{"/usr/share/common-licenses/GPL-3"});
  const nn::GptOptions options{.vocabulary = text.vocabulary.size()};
  const auto context = static_cast<double>(options.context), channels = static_cast<double>(options.channels);
  // A token's: the four linear maps of a block, and attention's two products over the places up to it, which count in
  // full as the rivals compute them.
  const double block = products(channels, 12 * channels) + products(channels, 2 * context);
  const double flops = context * (static_cast<double>(options.layers) * block +
                                  products(channels, static_cast<double>(options.vocabulary)));
  return {"gpt",
          nn::gpt(options),
          data::window_dataset(text.tokens, {.context = options.context}),
          optim::adamw(1e-3, 0.01),
          16,
          flops,
          60,
          10,
          3.2};
}

}  // namespace

std::int64_t Problem::parameters() const {
  std::int64_t count = 0;
  for (const nn::ParamSpec& spec : model.specs()) count += element_count(spec.shape);
  return count;
}

Problem make_problem(const std::string& name) {
  if (name == "mlp") return mlp();
  if (name == "cnn") return cnn();
  if (name == "gpt") return gpt();
  throw Error(fmt::format("bench: expected mlp, cnn or gpt, got {}", name));
}

double Training::measure(int threads) {
  const OnCpus pinned(threads);
  const Problem& p = problem_;
  const data::DataLoader loader(p.dataset, {.batch_size = p.batch_size, .shuffle = true, .seed = 1});
  distributed::TrainerOptions options;
  options.executors = threads;
  distributed::Trainer trainer({.num_workers = kWorkers}, p.model.initial_params(1), p.optimizer, loader,
                               nn::classifier_loss(p.model), options);
  trainer.run(p.warm_up_steps);
  const auto begin = std::chrono::steady_clock::now();
  const std::int64_t steps = trainer.run(p.steps);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  if (steps != p.steps) throw Error(fmt::format("bench: {}: {} of {} steps were made", p.name, steps, p.steps));
  distributed::TrainResult result = trainer.result();
  check(result.last_loss, std::move(result.final_params));
  return static_cast<double>(steps * kWorkers * p.batch_size) / seconds.count();
}

void Training::check(double loss, std::vector<Param> params) {
  if (!(loss < problem_.learnt_loss)) {
    throw Error(fmt::format("bench: {}: it did not learn, the loss is {}", problem_.name, loss));
  }
  if (first_result_.empty()) {
    first_result_ = std::move(params);
    return;
  }
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (!bitwise_equal(params[i].value, first_result_[i].value)) {
      throw Error(fmt::format("bench: {}: two runs gave different bits", problem_.name));
    }
  }
}

}  // namespace viva::bench
