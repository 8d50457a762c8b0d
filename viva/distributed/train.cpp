#include "viva/distributed/train.h"

#include <fmt/format.h>

#include "viva/distributed/canonical_sum.h"
#include "viva/distributed/failure.h"
#include "viva/distributed/plain_gradient.h"
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

// One batch's gradients, as far as the callback gave any, in the parameters' order. Frozen ones play no part.
std::vector<GradPair> given_grads(const optim::Layout& layout, std::span<const optim::ParamSettings> settings,
                                  const Tensor& buffer, const GradSink& sink) {
  std::vector<GradPair> grads;
  for (std::size_t i = 0; i < sink.size(); ++i) {
    if (sink.given(i) && !settings[i].frozen) grads.push_back({layout.entries()[i].name, layout.view(buffer, i)});
  }
  return grads;
}

std::vector<GradPair> zeros_like(const std::vector<GradPair>& grads) {
  std::vector<GradPair> zeros;
  for (const GradPair& g : grads) zeros.push_back({g.name, Tensor::zeros(g.grad.shape(), g.grad.dtype())});
  return zeros;
}

// A worker sums over its batches, in order; one without a batch has zeros.
std::vector<std::vector<GradPair>> sums_by_worker(const std::vector<std::vector<GradPair>>& batch_grads,
                                                  std::size_t num_workers) {
  std::vector<std::vector<GradPair>> sums(num_workers);
  for (std::size_t w = 0; w < num_workers; ++w) {
    sums[w] = w < batch_grads.size() ? batch_grads[w] : zeros_like(batch_grads.front());
    for (std::size_t j = w + num_workers; j < batch_grads.size(); j += num_workers) {
      sums[w] = add(sums[w], batch_grads[j]);
    }
  }
  return sums;
}

// The sample-weighted mean over a step's batches.
double mean_loss(const std::vector<data::Batch>& batches, const std::vector<double>& losses, std::int64_t samples) {
  double weighted = 0;
  for (std::size_t j = 0; j < batches.size(); ++j) weighted += static_cast<double>(batches[j].size()) * losses[j];
  return weighted / static_cast<double>(samples);
}

// Whether the guard, which is on, wants the step skipped; throws where it wants an error.
bool skips(const TrainConfig& config, const std::vector<GradPair>& grads, std::int64_t step, std::int64_t worker) {
  const auto bad = first_non_finite(grads);
  if (bad && config.non_finite == NonFinite::kError) throw NonFiniteGradient(worker, step, bad->name, bad->index);
  return bad.has_value();
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
  const bool guarded = config.non_finite != NonFinite::kIgnore;
  const auto settings = optim::settings_of(optimizer, params);

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
    bool skip = false, stop = false;
    for (std::size_t w = 0; w < num_workers; ++w) {
      for (std::size_t j = w; j < batches.size(); j += num_workers) {
        const std::int64_t number = schedule.first_batch(step) + static_cast<std::int64_t>(j);
        const auto worker = static_cast<std::int64_t>(w);
        const Tensor buffer = layout.make_buffer();
        GradSink sink(layout, buffer);
        arena.reset();
        const StepContext context{loader.options().seed, step, worker, number, Mode::kTraining, arena};
        const auto failure =
            failure_of([&] { losses[j] = compute_grads(context, batches[j], result.final_params, sink); });
        if (failure) throw WorkerFailed(step, worker, number, *failure);
        if (const auto bad_loss = failure_of_loss(losses[j])) {
          if (config.non_finite != NonFinite::kSkip) throw WorkerFailed(step, worker, number, *bad_loss);
          skip = true;
        }
        given.record(j, sink);
        stop |= sink.stop_requested();
        batch_grads[j] = given_grads(layout, settings, buffer, sink);
        if (guarded && skips(config, batch_grads[j], step, worker)) skip = true;
        if (weighted) scale(batch_grads[j], static_cast<double>(batches[j].size()));
      }
    }
    given.check(step, config.num_workers, layout, batches.size());

    // Reduce: the canonical sum over the workers, times one factor.
    std::int64_t samples = 0;
    for (const data::Batch& batch : batches) samples += batch.size();
    std::vector<GradPair> gradient = canonical_sum(sums_by_worker(batch_grads, num_workers));
    // Finite gradients may have a sum that is not.
    if (guarded && !skip) skip = skips(config, gradient, step, kSumOfWorkers);
    std::vector<GradPair> statistics = take_statistics(gradient, layout);
    scale(gradient, aggregation_scale(config.aggregation, config.num_workers, samples));
    scale(statistics, statistic_scale(config.aggregation, std::ssize(batches), samples));

    // The step counts even where it is skipped: data and schedule go on.
    result.steps += 1;
    result.batches += static_cast<std::int64_t>(batches.size());
    result.samples += samples;
    if (skip) {
      result.skipped += 1;
    } else {
      // Apply.
      clip(gradient, config.clipping, layout);
      auto updated = optim::step(result.final_optimizer, result.final_params, gradient, config.schedule.factor(step));
      result.final_params = std::move(updated.params);
      update_buffers(result.final_params, statistics, config.buffer_momentum);
      result.final_optimizer = std::move(updated.optimizer);
      result.last_loss = mean_loss(batches, losses, samples);
      result.total_loss += result.last_loss;
    }
    if (after_step && !after_step(result)) break;
    if (stop) break;
  }
  return result;
}

}  // namespace viva::distributed
