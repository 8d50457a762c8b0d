// Trainer: train_synchronous at the speed of the machine, with the same bits.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "viva/base/log.h"
#include "viva/distributed/recovery.h"
#include "viva/distributed/train.h"

namespace viva::distributed {

// Who runs the logical workers. Processes cost some tens of microseconds a step more than threads, and bear what a
// thread cannot: a worker that crashes, is killed or hangs is replaced, and the result does not change.
enum class ExecutorKind { kThreads, kProcesses };

struct TrainerOptions {
  // Executors that run the logical workers; 0: as many as there are CPUs that this process may use, at most
  // num_workers.
  std::int64_t executors = 0;
  // The longest that one step may take. A thread that takes longer ends training as WorkerTimeout; a process is killed
  // and replaced.
  std::chrono::duration<double> step_timeout = std::chrono::seconds(300);
  // How long a step takes before the log says whom it waits for; again after each further such time.
  std::chrono::duration<double> waiting_notice = std::chrono::seconds(30);
  LogSink log = {};
  // With kProcesses the Trainer has to be created while this process has a single thread, for it forks. What the
  // callback and the dataset refer to is copied by that: later changes are not seen by the workers, nor theirs here.
  ExecutorKind kind = ExecutorKind::kThreads;
  RecoveryLimits recovery = {};  // of processes
  // Where a batch that ends training by ending its worker processes is kept as a file (failed_batch.h); empty: nowhere.
  std::string failed_batch_directory = {};
  // How often a batch is computed at most, as long as its callback throws.
  std::int64_t attempts_per_batch = 1;
};

// A moment of a running training.
struct Progress {
  std::int64_t steps = 0;
  std::int64_t samples = 0;
  double last_loss = 0;       // of the last step that was applied
  std::int64_t skipped = 0;   // of the steps
  std::int64_t restarts = 0;  // worker processes that had to be replaced
  std::int64_t retries = 0;   // of executors in steps, after an exception
};

// An executor is a thread of the Trainer's own: it computes the gradients of a contiguous block of workers, or has them
// computed by a process of its own, and owns a range of the flat buffers. Several Trainers may live in one program. A
// Trainer is used by one thread, but for progress() and request_stop(). Threads start with the first run().
class Trainer {
 public:
  // ConfigError for the settings and executors, and for processes where this process has several threads; DtypeError,
  // DimensionError for the parameters.
  Trainer(const TrainConfig& config, std::span<const Param> params, const optim::Optimizer& optimizer,
          data::DataLoader loader, ComputeGrads compute_grads, TrainerOptions options = {});
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Up to `num_steps` further steps (-1: until config.epochs are over); returns how many were made, fewer only at the
  // end of the data or after request_stop(), the Trainer's or a callback's. WorkerFailed, NonFiniteGradient: the step
  // was not applied, the parameters are as they were before it, and run() may be called again, which tries that step
  // anew; so with processes WorkerDied and WorkerTimeout, where the limits of recovery are reached. With threads, after
  // a WorkerTimeout the Trainer cannot be used any more.
  std::int64_t run(std::int64_t num_steps);

  // A copy of where training stands, with parameters and optimizer state.
  TrainResult result() const;
  // The current parameters, sharing the Trainer's memory: they change with the next run().
  std::span<const Param> params() const;
  Progress progress() const;
  // Has the run() that is going on, or else the next one, end after the step that it is making. May be called from any
  // thread and from a signal handler.
  void request_stop();
  // How long each worker's batches have taken to compute, in seconds, over all steps: a slow one keeps all waiting.
  std::span<const double> worker_seconds() const;
  std::int64_t executors() const;

 private:
  struct Impl;
  void start_threads();
  // Ends the threads, or leaves them behind after a time-out.
  void close();

  std::shared_ptr<Impl> impl_;
  std::vector<std::thread> threads_;
};

}  // namespace viva::distributed
