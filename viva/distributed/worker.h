// Workers as actors, for training loops of one's own: spawn_workers, and messages to and from each.
//
//   auto workers = spawn_workers(4, worker_loop, WorkerKind::kProcesses);
//   send_batch_to_worker(*workers[i], batch_id, batch, params);             for each worker
//   const auto grads = all_reduce_grads(workers, {}, GradAggregation::kAverage);
//   stop_workers(workers);
//
// The Trainer does not use them: it shares parameters and gradients instead of sending them.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "viva/data/dataset.h"
#include "viva/distributed/aggregation.h"

namespace viva::distributed {

// What a worker is told: to compute a batch's gradients with these parameters, or to come to its end.
struct RunBatch {
  std::int64_t batch_id = 0;
  data::Batch batch;
  std::vector<Param> params;
};
struct Stop {};
using WorkerCommand = std::variant<RunBatch, Stop>;

// What a worker answers.
struct BatchGrads {
  std::int64_t batch_id = 0;
  WorkerGrads grads;
  double loss = 0;
};

// A worker's side.
class Inbox {
 public:
  virtual ~Inbox() = default;
  // Waits for the next command. Stop where whoever spawned the worker has gone.
  virtual WorkerCommand receive() = 0;
};
class Outbox {
 public:
  virtual ~Outbox() = default;
  virtual void send(BatchGrads reply) = 0;
};

// A worker's life, with the settings of KernelScope: receives commands until a Stop, then returns. What it throws ends
// the worker; whoever waits for it gets the message as WorkerDied. Runs on as many threads, or in as many processes, as
// there are workers. `id` counts from 0.
using WorkerLoop = std::function<void(std::int64_t id, Inbox& inbox, Outbox& outbox)>;

enum class WorkerKind { kThreads, kProcesses };

// One worker, seen by the one thread that spawned it.
class Worker {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Worker(std::int64_t id) : id_(id) {}
  // Ends the worker: request_stop(), then wait_for_end() within a second.
  virtual ~Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  std::int64_t id() const { return id_; }
  // False once the worker has ended, however it did.
  virtual bool running() const = 0;

  // WorkerDied where it cannot arrive any more; answers that came before the end can still be received.
  void send(RunBatch command);
  // The answer to the earliest batch that has none, awaited until `deadline`: then WorkerTimeout, and that batch's
  // answer, should it come, is thrown away. WorkerDied where the worker has ended without answering; CommError where no
  // answer is due, or another batch's has come.
  BatchGrads receive(Clock::time_point deadline);

  // Orderly: sends Stop. wait_for_end() then waits, and where the worker still runs at the deadline, it ends a process
  // by SIGKILL; a thread cannot be ended: it is left to itself, with all it was given, and false is the answer.
  virtual void request_stop() = 0;
  virtual bool wait_for_end(Clock::time_point deadline) = 0;

 protected:
  // How a worker ended that did not answer.
  struct End {
    int exit_code = 0, signal = 0;
    std::string message;
  };
  // False where the worker has ended.
  virtual bool deliver(RunBatch command) = 0;
  // The next message of the worker, or nothing at the deadline; what arrived before its end comes before the end.
  using Message = std::variant<BatchGrads, End, std::monostate>;
  virtual Message await(Clock::time_point deadline) = 0;

 private:
  // The same, but what has arrived already comes first.
  Message next(Clock::time_point deadline);

  const std::int64_t id_;
  std::deque<std::int64_t> due_;       // batches without an answer
  std::deque<std::int64_t> given_up_;  // batches whose answer nobody waits for any more
  std::deque<BatchGrads> arrived_;     // answers that were read before somebody asked for them
};

using Workers = std::vector<std::unique_ptr<Worker>>;

// `n` workers that run `loop`. Processes are forked: ConfigError where this process has more than one thread. They see
// the memory of this process as it is now, and end with it. ConfigError for n < 1; CommError, std::system_error.
Workers spawn_workers(std::int64_t n, WorkerLoop loop, WorkerKind kind);

// Tensors are shared with a thread, which must not write them; a process gets them as one sealed piece of shared
// memory.
void send_batch_to_worker(Worker& worker, std::int64_t batch_id, data::Batch batch, std::vector<Param> params);

// See Worker::receive.
BatchGrads receive_grads_from_worker(Worker& worker, std::chrono::duration<double> timeout);

// Worker i's gradients are local_grads[i] where given; otherwise its answer is awaited, all within one `timeout`. Then
// distribute_grads. `local_grads` is empty or has one element a worker (DimensionError).
std::vector<GradPair> all_reduce_grads(const Workers& workers, std::span<const std::optional<WorkerGrads>> local_grads,
                                       GradAggregation aggregation,
                                       std::chrono::duration<double> timeout = std::chrono::seconds(5));

// Asks all of them to stop, and waits for them together; what still runs after `timeout` is ended (see wait_for_end).
// True where every worker has ended.
bool stop_workers(const Workers& workers, std::chrono::duration<double> timeout = std::chrono::seconds(5));

}  // namespace viva::distributed
