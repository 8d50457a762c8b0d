#include "viva/distributed/process_worker.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "viva/base/descriptor.h"
#include "viva/base/error.h"
#include "viva/distributed/failure.h"
#include "viva/distributed/process_pool.h"
#include "viva/distributed/worker_message.h"
#include "viva/tensor/kernel_scope.h"

namespace viva::distributed {
namespace {

// Between the coordinator and one worker.
struct Line {
  comm::MessageSocket coordinator, worker;  // the two ends of one socket
  Descriptor changed;                       // an eventfd, readable when something has happened to the process
};

Line make_line() {
  auto [coordinator, worker] = comm::MessageSocket::make_pair();
  Line line{std::move(coordinator), std::move(worker), Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))};
  if (!line.changed.open()) throw std::system_error(errno, std::generic_category(), "viva: cannot make an eventfd");
  return line;
}

std::vector<Line> make_lines(std::int64_t n) {
  std::vector<Line> lines;
  for (std::int64_t id = 0; id < n; ++id) lines.push_back(make_line());
  return lines;
}

class SocketInbox final : public Inbox {
 public:
  explicit SocketInbox(const comm::MessageSocket& socket) : socket_(socket) {}
  WorkerCommand receive() override { return receive_command(socket_).value_or(Stop{}); }

 private:
  const comm::MessageSocket& socket_;
};

class SocketOutbox final : public Outbox {
 public:
  explicit SocketOutbox(const comm::MessageSocket& socket) : socket_(socket) {}
  void send(BatchGrads reply) override {
    if (!send_answer(socket_, std::move(reply))) throw CommError("whoever spawned this worker has gone");
  }

 private:
  const comm::MessageSocket& socket_;
};

// What the worker process runs; it ends with exit code 1 after an exception.
void live_in_process(const comm::MessageSocket& socket, std::int64_t id, const WorkerLoop& loop) {
  const auto failure = failure_of([&] {
    const KernelScope scope;
    SocketInbox inbox(socket);
    SocketOutbox outbox(socket);
    loop(id, inbox, outbox);
  });
  if (!failure) return;
  send_answer(socket, LastWords{*failure});
  ::_exit(1);
}

// All the workers of one spawn_workers(), and the zygote that forked them.
class WorkerProcesses {
 public:
  WorkerProcesses(std::int64_t n, WorkerLoop loop)
      : loop_(std::move(loop)),
        lines_(make_lines(n)),
        pool_(
            n, [this](std::int64_t id, pid_t) { live(id); },
            [this](std::int64_t id) { ::eventfd_write(line(id).changed.get(), 1); }) {
    for (Line& each : lines_) each.worker.close();
    pool_.watch();
    for (std::int64_t id = 0; id < n; ++id) pool_.start(id);
  }

  Line& line(std::int64_t id) { return lines_[static_cast<std::size_t>(id)]; }
  ProcessPool& pool() { return pool_; }

 private:
  void live(std::int64_t id) {
    for (Line& each : lines_) {
      each.coordinator.close();
      each.changed.close();
      if (&each != &line(id)) each.worker.close();
    }
    live_in_process(line(id).worker, id, loop_);
  }

  const WorkerLoop loop_;
  std::vector<Line> lines_;
  ProcessPool pool_;
};

class ProcessWorker final : public Worker {
 public:
  ProcessWorker(std::int64_t id, std::shared_ptr<WorkerProcesses> all)
      : Worker(id), all_(std::move(all)), line_(all_->line(id)) {}
  ~ProcessWorker() override {
    request_stop();
    try {
      wait_for_end(Clock::now() + std::chrono::seconds(1));
    } catch (const CommError&) {  // the zygote has gone, and the worker with it
    }
  }

  bool running() const override { return all_->pool().status(id()).running; }
  void request_stop() override { send_command(line_.coordinator, Stop{}); }
  bool wait_for_end(Clock::time_point deadline) override {
    if (!ends_by(deadline)) all_->pool().kill(id());
    return ends_by(std::max(deadline, Clock::now() + std::chrono::seconds(5)));
  }

 private:
  bool deliver(RunBatch command) override { return running() && send_command(line_.coordinator, std::move(command)); }

  Message await(Clock::time_point deadline) override {
    for (;;) {
      // In this order: what it sent before its end is read before its end is believed.
      const ProcessPool::Status status = all_->pool().status(id());
      if (wait(status.running ? deadline : Clock::now(), true)) {
        auto answer = receive_answer(line_.coordinator);
        if (!answer) {
          // Nobody has the other end any more: how the process ends, or that the zygote has, is about to be told.
          hung_up_ = true;
        } else if (auto* const grads = std::get_if<BatchGrads>(&*answer)) {
          return std::move(*grads);
        } else {
          last_words_ = std::get<LastWords>(*answer).text;
        }
      } else if (!status.running) {
        return end_of(status);
      } else if (Clock::now() >= deadline && running()) {
        return std::monostate{};
      }
    }
  }

  End end_of(const ProcessPool::Status& status) const {
    if (status.error != 0) return {0, 0, "it could not be started: " + std::generic_category().message(status.error)};
    return {status.end.exit_code, status.end.signal, last_words_};
  }

  bool ends_by(Clock::time_point deadline) {
    while (running() && Clock::now() < deadline) wait(deadline, false);
    return !running();
  }

  // Until the deadline or until something happens to the process; true where a message is there, if `messages` count.
  bool wait(Clock::time_point deadline, bool messages) {
    using std::chrono::milliseconds;
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
    std::array<pollfd, 2> sources{{{line_.changed.get(), POLLIN, 0}, {line_.coordinator.descriptor(), POLLIN, 0}}};
    ::poll(sources.data(), messages && !hung_up_ ? 2 : 1,
           static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000)));
    eventfd_t unused = 0;
    if (sources[0].revents != 0) ::eventfd_read(line_.changed.get(), &unused);
    return sources[1].revents != 0;
  }

  const std::shared_ptr<WorkerProcesses> all_;
  Line& line_;
  std::string last_words_;
  bool hung_up_ = false;
};

}  // namespace

Workers spawn_process_workers(std::int64_t n, WorkerLoop loop) {
  const auto all = std::make_shared<WorkerProcesses>(n, std::move(loop));
  Workers workers;
  for (std::int64_t id = 0; id < n; ++id) workers.push_back(std::make_unique<ProcessWorker>(id, all));
  return workers;
}

}  // namespace viva::distributed
