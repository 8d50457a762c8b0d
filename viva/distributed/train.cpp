#include "viva/distributed/train.h"

#include <fmt/format.h>

#include "viva/distributed/canonical_sum.h"
#include "viva/distributed/failure.h"
#include "viva/distributed/step_rules.h"
#include "viva/optim/layout.h"
#include "viva/tensor/kernel_scope.h"

namespace viva::distributed {
namespace {

// The endless stream of epochs, one batch after the other.
class BatchCursor {
 public:
  explicit BatchCursor(const data::DataLoader& loader) : loader_(loader), epoch_(loader.batches(0)) {}

  data::Batch next() {
    if (batch_ == epoch_.size()) {
      epoch_ = loader_.batches(++epoch_number_);
      batch_ = 0;
    }
    return epoch_.batch(batch_++);
  }

 private:
  const data::DataLoader& loader_;
  data::DataLoader::Epoch epoch_;
  std::int64_t epoch_number_ = 0;
  std::int64_t batch_ = 0;
};

// One batch's gradients, as far as the callback gave any, in the parameters' order.
std::vector<GradPair> given_grads(const optim::Layout& layout, const Tensor& buffer, const GradSink& sink) {
  std::vector<GradPair> grads;
  for (std::size_t i = 0; i < sink.size(); ++i) {
    if (sink.given(i)) grads.push_back({layout.entries()[i].name, layout.view(buffer, i)});
  }
  return grads;
}

std::vector<GradPair> zeros_like(const std::vector<GradPair>& grads) {
  std::vector<GradPair> zeros;
  for (const GradPair& g : grads) zeros.push_back({g.name, Tensor::zeros(g.grad.shape(), g.grad.dtype())});
  return zeros;
}

}  // namespace

TrainResult train_synchronous(const TrainConfig& given_config, std::span<const Param> params,
                              const optim::Optimizer& optimizer, const data::DataLoader& loader,
                              const ComputeGrads& compute_grads, std::int64_t num_steps, const AfterStep& after_step) {
  const KernelScope scope;
  const TrainConfig config = checked(given_config);
  const StepSchedule schedule(config, loader.size());
  const optim::Layout layout(params);
  const auto num_workers = static_cast<std::size_t>(config.num_workers);
  const bool weighted = config.aggregation == GradAggregation::kWeightedAverage;

  TrainResult result{{params.begin(), params.end()}, optimizer};
  BatchCursor cursor(loader);
  Arena arena;

  for (std::int64_t step = 0; step < schedule.last_step(0, num_steps); ++step) {
    std::vector<data::Batch> batches;
    for (std::int64_t j = 0; j < schedule.batches_in(step); ++j) batches.push_back(cursor.next());

    // Compute: worker w takes batches w, w + W, … of the step.
    std::vector<double> losses(batches.size());
    std::vector<std::vector<GradPair>> batch_grads(batches.size());
    GivenGrads given(batches.size(), params.size());
    for (std::size_t w = 0; w < num_workers; ++w) {
      for (std::size_t j = w; j < batches.size(); j += num_workers) {
        const std::int64_t number = schedule.first_batch(step) + static_cast<std::int64_t>(j);
        const auto worker = static_cast<std::int64_t>(w);
        const Tensor buffer = layout.make_buffer();
        GradSink sink(layout, buffer);
        arena.reset();
        const StepContext context{loader.options().seed, step, worker, number, Mode::kTraining, arena};
        const auto failure =
            failure_of(losses[j], [&] { return compute_grads(context, batches[j], result.final_params, sink); });
        if (failure) throw WorkerFailed(step, worker, number, *failure);
        given.record(j, sink);
        batch_grads[j] = given_grads(layout, buffer, sink);
        if (weighted) scale(batch_grads[j], static_cast<double>(batches[j].size()));
      }
    }
    given.check(step, config.num_workers, layout, batches.size());

    // A worker sums over its batches; one without a batch has zeros.
    std::vector<std::vector<GradPair>> worker_sums(num_workers);
    for (std::size_t w = 0; w < num_workers; ++w) {
      worker_sums[w] = w < batches.size() ? batch_grads[w] : zeros_like(batch_grads.front());
      for (std::size_t j = w + num_workers; j < batches.size(); j += num_workers) {
        worker_sums[w] = add(worker_sums[w], batch_grads[j]);
      }
    }

    // Reduce: the canonical sum over the workers, times one factor.
    std::int64_t samples = 0;
    for (const data::Batch& batch : batches) samples += batch.size();
    std::vector<GradPair> gradient = canonical_sum(worker_sums);
    scale(gradient, aggregation_scale(config.aggregation, config.num_workers, samples));

    // Apply.
    auto updated = optim::step(result.final_optimizer, result.final_params, gradient);
    result.final_params = std::move(updated.params);
    result.final_optimizer = std::move(updated.optimizer);

    double weighted_losses = 0;
    for (std::size_t j = 0; j < batches.size(); ++j) {
      weighted_losses += static_cast<double>(batches[j].size()) * losses[j];
    }
    result.last_loss = weighted_losses / static_cast<double>(samples);
    result.total_loss += result.last_loss;
    result.steps += 1;
    result.batches += static_cast<std::int64_t>(batches.size());
    result.samples += samples;
    if (after_step && !after_step(result)) break;
  }
  return result;
}

}  // namespace viva::distributed
