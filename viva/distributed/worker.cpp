#include "viva/distributed/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "viva/base/error.h"
#include "viva/distributed/process_worker.h"
#include "viva/distributed/thread_worker.h"

namespace viva::distributed {
namespace {

Worker::Clock::time_point deadline_after(std::chrono::duration<double> timeout) {
  return Worker::Clock::now() + std::chrono::duration_cast<Worker::Clock::duration>(timeout);
}

}  // namespace

void Worker::send(RunBatch command) {
  const std::int64_t batch = command.batch_id;
  if (!deliver(std::move(command))) {
    Message message = await(Clock::now());
    for (; std::holds_alternative<BatchGrads>(message); message = await(Clock::now())) {
      arrived_.push_back(std::get<BatchGrads>(std::move(message)));
    }
    const End* const end = std::get_if<End>(&message);
    throw end != nullptr ? WorkerDied(id_, batch, end->exit_code, end->signal, end->message)
                         : WorkerDied(id_, batch, 0, 0, "it takes no more batches");
  }
  due_.push_back(batch);
}

Worker::Message Worker::next(Clock::time_point deadline) {
  if (arrived_.empty()) return await(deadline);
  BatchGrads reply = std::move(arrived_.front());
  arrived_.pop_front();
  return reply;
}

BatchGrads Worker::receive(Clock::time_point deadline) {
  if (due_.empty()) throw CommError(fmt::format("worker {} has no batch to answer: send one first", id_));
  const auto begin = Clock::now();
  for (;;) {
    Message message = next(deadline);
    if (const End* const end = std::get_if<End>(&message)) {
      throw WorkerDied(id_, due_.front(), end->exit_code, end->signal, end->message);
    }
    if (std::holds_alternative<std::monostate>(message)) {
      given_up_.push_back(due_.front());
      due_.pop_front();
      const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      throw WorkerTimeout(
          id_, given_up_.back(), seconds,
          fmt::format("worker {} has not answered batch {} within {:.3f} s", id_, given_up_.back(), seconds));
    }
    BatchGrads reply = std::get<BatchGrads>(std::move(message));
    if (reply.batch_id == due_.front()) {
      due_.pop_front();
      return reply;
    }
    const auto late = std::find(given_up_.begin(), given_up_.end(), reply.batch_id);
    if (late == given_up_.end()) {
      throw CommError(
          fmt::format("worker {} has answered batch {} where batch {} was due", id_, reply.batch_id, due_.front()));
    }
    given_up_.erase(late);
  }
}

Workers spawn_workers(std::int64_t n, WorkerLoop loop, WorkerKind kind) {
  if (n < 1) throw ConfigError({}, 0, "n", fmt::format("expected at least one worker, got {}", n));
  return kind == WorkerKind::kThreads ? spawn_thread_workers(n, loop) : spawn_process_workers(n, std::move(loop));
}

void send_batch_to_worker(Worker& worker, std::int64_t batch_id, data::Batch batch, std::vector<Param> params) {
  worker.send({batch_id, std::move(batch), std::move(params)});
}

BatchGrads receive_grads_from_worker(Worker& worker, std::chrono::duration<double> timeout) {
  return worker.receive(deadline_after(timeout));
}

std::vector<GradPair> all_reduce_grads(const Workers& workers, std::span<const std::optional<WorkerGrads>> local_grads,
                                       GradAggregation aggregation, std::chrono::duration<double> timeout) {
  if (!local_grads.empty() && local_grads.size() != workers.size()) {
    throw DimensionError(fmt::format("all_reduce_grads: expected local gradients of {} workers or of none, got {}",
                                     workers.size(), local_grads.size()));
  }
  const auto deadline = deadline_after(timeout);
  std::vector<WorkerGrads> per_worker;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const bool local = !local_grads.empty() && local_grads[i];
    per_worker.push_back(local ? *local_grads[i] : workers[i]->receive(deadline).grads);
  }
  return distribute_grads(per_worker, aggregation);
}

bool stop_workers(const Workers& workers, std::chrono::duration<double> timeout) {
  for (const auto& worker : workers) worker->request_stop();
  const auto deadline = deadline_after(timeout);
  bool all = true;
  for (const auto& worker : workers) all &= worker->wait_for_end(deadline);
  return all;
}

}  // namespace viva::distributed
