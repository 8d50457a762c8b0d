#include "viva/distributed/thread_worker.h"

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "viva/distributed/failure.h"
#include "viva/tensor/kernel_scope.h"

namespace viva::distributed {
namespace {

// What a worker's thread and its owner share. Both keep it alive: a thread that outlives its owner still has its own.
struct ThreadMailbox final : Inbox, Outbox {
  WorkerCommand receive() override {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return !commands.empty(); });
    WorkerCommand command = std::move(commands.front());
    commands.pop_front();
    return command;
  }
  void send(BatchGrads reply) override {
    const std::lock_guard lock(mutex);
    replies.push_back(std::move(reply));
    changed.notify_all();
  }

  std::mutex mutex;  // guards the following
  std::condition_variable changed;
  std::deque<WorkerCommand> commands;
  std::deque<BatchGrads> replies;
  bool ended = false;
  std::optional<std::string> failure;  // the message of what it died of
};

void live(ThreadMailbox& mailbox, std::int64_t id, const WorkerLoop& loop) {
  auto failure = failure_of([&] {
    const KernelScope scope;
    loop(id, mailbox, mailbox);
  });
  const std::lock_guard lock(mailbox.mutex);
  mailbox.ended = true;
  mailbox.failure = std::move(failure);
  mailbox.changed.notify_all();
}

class ThreadWorker final : public Worker {
 public:
  ThreadWorker(std::int64_t id, const WorkerLoop& loop)
      : Worker(id),
        mailbox_(std::make_shared<ThreadMailbox>()),
        thread_([mailbox = mailbox_, id, loop] { live(*mailbox, id, loop); }) {}
  ~ThreadWorker() override {
    request_stop();
    wait_for_end(Clock::now() + std::chrono::seconds(1));
  }

  bool running() const override {
    const std::lock_guard lock(mailbox_->mutex);
    return !mailbox_->ended;
  }
  void request_stop() override { put(Stop{}); }
  bool wait_for_end(Clock::time_point deadline) override {
    if (!thread_.joinable()) return !running();
    {
      std::unique_lock lock(mailbox_->mutex);
      if (!mailbox_->changed.wait_until(lock, deadline, [&] { return mailbox_->ended; })) {
        thread_.detach();
        return false;
      }
    }
    thread_.join();
    return true;
  }

 private:
  bool deliver(RunBatch command) override { return put(std::move(command)); }

  Message await(Clock::time_point deadline) override {
    std::unique_lock lock(mailbox_->mutex);
    mailbox_->changed.wait_until(lock, deadline, [&] { return !mailbox_->replies.empty() || mailbox_->ended; });
    if (!mailbox_->replies.empty()) {
      BatchGrads reply = std::move(mailbox_->replies.front());
      mailbox_->replies.pop_front();
      return reply;
    }
    if (mailbox_->ended) return End{mailbox_->failure ? 1 : 0, 0, mailbox_->failure.value_or("")};
    return std::monostate{};
  }

  bool put(WorkerCommand command) {
    const std::lock_guard lock(mailbox_->mutex);
    if (mailbox_->ended) return false;
    mailbox_->commands.push_back(std::move(command));
    mailbox_->changed.notify_all();
    return true;
  }

  const std::shared_ptr<ThreadMailbox> mailbox_;
  std::thread thread_;
};

}  // namespace

Workers spawn_thread_workers(std::int64_t n, const WorkerLoop& loop) {
  Workers workers;
  for (std::int64_t id = 0; id < n; ++id) workers.push_back(std::make_unique<ThreadWorker>(id, loop));
  return workers;
}

}  // namespace viva::distributed
