// A synchronous training loop of one's own: four worker processes that get batches and send gradients. It ends with the
// same bits as the Trainer.
#include <cstdio>
#include <variant>

#include "viva/distributed/trainer.h"
#include "viva/distributed/worker.h"

using namespace viva;

// Mean squared error of w x + b, and its gradient.
distributed::LossAndGrads compute_grads(const data::Batch& batch, std::span<const Param> params) {
  const float w = params[0].value.values<float>()[0], b = params[1].value.values<float>()[0];
  const auto inputs = batch.inputs.values<float>(), targets = batch.targets.values<float>();
  float loss = 0, dw = 0, db = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const float error = w * inputs[i] + b - targets[i], n = static_cast<float>(inputs.size());
    loss += error * error / n, dw += 2 * error * inputs[i] / n, db += 2 * error / n;
  }
  return {loss, {{"w", Tensor::from_values<float>({dw})}, {"b", Tensor::from_values<float>({db})}}};
}

// What every worker runs.
void worker_loop(std::int64_t, distributed::Inbox& inbox, distributed::Outbox& outbox) {
  for (;;) {
    const distributed::WorkerCommand command = inbox.receive();
    const auto* const run = std::get_if<distributed::RunBatch>(&command);
    if (run == nullptr) return;  // Stop
    auto [loss, grads] = compute_grads(run->batch, run->params);
    outbox.send({run->batch_id, {std::move(grads), run->batch.size()}, loss});
  }
}

int main() {
  constexpr std::int64_t kWorkers = 4, kEpochs = 50;
  std::vector<float> x, y;  // y = 2x + 1, sixteen samples
  for (int i = 0; i < 16; ++i) x.push_back(static_cast<float>(i) / 16), y.push_back(2 * x.back() + 1);
  const data::DataLoader loader(data::Dataset::from_tensors(Tensor::from_values(x), Tensor::from_values(y)),
                                {.batch_size = 2, .shuffle = true, .seed = 1});
  const std::vector<Param> start{{"w", Tensor::zeros({1})}, {"b", Tensor::zeros({1})}};

  // Processes are forked before anything starts a thread.
  const auto workers = distributed::spawn_workers(kWorkers, worker_loop, distributed::WorkerKind::kProcesses);
  std::vector<Param> params = start;
  optim::Optimizer optimizer = optim::sgd_momentum(0.1);
  for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const auto batches = loader.batches(epoch);
    for (std::int64_t first = 0; first < batches.size(); first += kWorkers) {
      for (std::int64_t i = 0; i < kWorkers; ++i) {
        distributed::send_batch_to_worker(*workers[static_cast<std::size_t>(i)], first + i, batches.batch(first + i),
                                          params);
      }
      const auto grads = distributed::all_reduce_grads(workers, {}, distributed::GradAggregation::kAverage);
      auto next = optim::step(optimizer, params, grads);
      params = std::move(next.params), optimizer = std::move(next.optimizer);
    }
  }
  distributed::stop_workers(workers);

  distributed::Trainer trainer({.num_workers = kWorkers, .aggregation = distributed::GradAggregation::kAverage}, start,
                               optim::sgd_momentum(0.1), loader, compute_grads);
  trainer.run(kEpochs * loader.size() / kWorkers);
  const auto trained = trainer.result().final_params;
  const bool same =
      bitwise_equal(trained[0].value, params[0].value) && bitwise_equal(trained[1].value, params[1].value);
  std::printf("w = %.3f, b = %.3f; the Trainer's bits: %s\n", params[0].value.item(), params[1].value.item(),
              same ? "the same" : "others");
}
