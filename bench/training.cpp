#include "bench/training.h"

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <random>
#include <utility>

#include "bench/measure.h"
#include "viva/base/error.h"
#include "viva/data/idx.h"
#include "viva/data/text.h"
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

double milliseconds_of(const std::function<void()>& body) {
  const Clock::time_point begin = Clock::now();
  body();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
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

distributed::Trainer Training::make_trainer(const distributed::TrainerOptions& options,
                                            std::vector<distributed::Fault> kills) const {
  const Problem& p = problem_;
  const data::DataLoader loader(p.dataset, {.batch_size = p.batch_size, .shuffle = true, .seed = 1});
  return {{.num_workers = kWorkers},
          p.model.initial_params(1),
          p.optimizer,
          loader,
          distributed::with_faults(nn::classifier_loss(p.model), std::move(kills), kWorkers),
          options};
}

double Training::measure(int executors, distributed::ExecutorKind kind) {
  const OnCpus pinned(executors);
  const Problem& p = problem_;
  distributed::Trainer trainer = make_trainer({.executors = executors, .kind = kind});
  trainer.run(p.warm_up_steps);
  std::int64_t steps = 0;
  const double took = milliseconds_of([&] { steps = trainer.run(p.steps); });
  if (steps != p.steps) throw Error(fmt::format("bench: {}: {} of {} steps were made", p.name, steps, p.steps));
  check(trainer);
  return 1000 * static_cast<double>(steps * kWorkers * p.batch_size) / took;
}

std::vector<Recovery> Training::measure_recovery() {
  constexpr int kEvery = 6;  // steps
  const Problem& p = problem_;
  const OnCpus pinned(2);
  const double usual = milliseconds_a_step();
  std::vector<distributed::Fault> kills;
  std::minstd_rand random(++recoveries_measured_);
  // Most of a step is computing; what is left of it then must not be over before the kill.
  std::uniform_real_distribution<double> moment(0, 0.8 * usual / 1000);
  for (int step = p.warm_up_steps; step + 1 < p.warm_up_steps + p.steps; step += kEvery) {
    kills.push_back({.worker = step / kEvery % kWorkers, .step = step, .seconds = moment(random)});
  }
  distributed::Trainer trainer = make_trainer({.executors = 2, .kind = distributed::ExecutorKind::kProcesses}, kills);
  trainer.run(p.warm_up_steps);
  std::vector<double> others;
  std::vector<Recovery> recoveries;
  for (int step = 0; step < p.steps; ++step) {
    const std::int64_t restarts = trainer.progress().restarts;
    const double took = milliseconds_of([&] { trainer.run(1); });
    if (trainer.progress().restarts == restarts) {
      others.push_back(took);
      continue;
    }
    // One that died only after its answer is replaced in the next step, and nothing is lost.
    const bool in_step = step % kEvery == 0;
    recoveries.push_back({took, in_step ? 1000 * kills[static_cast<std::size_t>(step / kEvery)].seconds : 0});
  }
  if (trainer.progress().restarts != std::ssize(kills)) {
    throw Error(fmt::format("bench: {}: {} kills, but {} restarts", p.name, kills.size(), trainer.progress().restarts));
  }
  check(trainer);
  for (Recovery& recovery : recoveries) recovery.extra -= spread_of(others).median;
  return recoveries;
}

// Of two worker processes that live.
double Training::milliseconds_a_step() {
  distributed::Trainer trainer = make_trainer({.executors = 2, .kind = distributed::ExecutorKind::kProcesses});
  trainer.run(problem_.warm_up_steps);
  const double took = milliseconds_of([&] { trainer.run(problem_.steps); });
  check(trainer);
  return took / problem_.steps;
}

void Training::check(const distributed::Trainer& trainer) {
  distributed::TrainResult result = trainer.result();
  if (!(result.last_loss < problem_.learnt_loss)) {
    throw Error(fmt::format("bench: {}: it did not learn, the loss is {}", problem_.name, result.last_loss));
  }
  std::vector<Param> params = std::move(result.final_params);
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
