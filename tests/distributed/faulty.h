// A small training whose callback goes wrong in one batch, as often as a test wants.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>
#include <span>

#include "tests/distributed/regression.h"
#include "viva/base/shared_mapping.h"
#include "viva/distributed/trainer.h"

namespace viva::test {

inline distributed::TrainerOptions processes(std::int64_t executors) {
  distributed::TrainerOptions options;
  options.executors = executors;
  options.kind = distributed::ExecutorKind::kProcesses;
  return options;
}

inline data::DataLoader seeded_loader() {
  return {random_dataset<float>(64, 3), {.batch_size = 1, .shuffle = true, .seed = 5}};
}

// Attempts that all processes count together.
class SharedCounter {
 public:
  int next() const { return counter_->fetch_add(1); }
  int value() const { return counter_->load(); }

 private:
  SharedBytes memory_ = make_shared_bytes(sizeof(std::atomic<int>));
  std::atomic<int>* counter_ = new (memory_.get()) std::atomic<int>;
};

// squared_error, and `fault` after it in worker 2's batch of step 3, as often as `times`.
template <typename F>
distributed::ComputeGrads faulty(const SharedCounter& attempts, int times, F fault) {
  return [=](const StepContext& context, const data::Batch& batch, std::span<const Param> params, GradSink& sink) {
    const double loss = squared_error<float>(context, batch, params, sink);
    if (context.step == 3 && context.worker == 2 && attempts.next() < times) fault(params);
    return loss;
  };
}

}  // namespace viva::test
