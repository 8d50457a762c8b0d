#include "viva/distributed/process_pool.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <system_error>
#include <utility>

#include "viva/base/error.h"

namespace viva::distributed {
namespace {

using std::chrono::milliseconds;

// How a child has ended, or nothing where it lives on after `limit`, or where the host has reaped it first.
std::optional<ProcessEnd> wait_for_end(pid_t pid, milliseconds limit, bool& gone) {
  constexpr milliseconds kPause(1);
  for (milliseconds waited(0);; waited += kPause) {
    int status = 0;
    const pid_t got = ::waitpid(pid, &status, WNOHANG);
    gone = got == pid || (got < 0 && errno == ECHILD);
    if (got == pid) return end_of_status(status);
    if (gone || waited >= limit) return std::nullopt;
    std::this_thread::sleep_for(kPause);
  }
}

void expect_single_thread() {
  if (is_single_threaded()) return;
  throw ConfigError({}, 0, "executors",
                    fmt::format("worker processes can only be forked by a process with one thread, and this one has "
                                "{}; create the Trainer before anything starts a thread (a thread pool, OpenMP, a "
                                "server, the run() of another Trainer), or take threads as executors",
                                count_threads()));
}

}  // namespace

ProcessPool::ProcessPool(std::int64_t executors, WorkerMain worker_main, Notify notify)
    : executors_(executors), notify_(std::move(notify)), statuses_(static_cast<std::size_t>(executors)) {
  expect_single_thread();
  auto [mine, zygotes] = comm::MessageSocket::make_pair();
  socket_ = std::move(mine);
  // What is buffered now must not be written once more by a worker that ends with exit().
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  zygote_ = ::fork();
  if (zygote_ == 0) {
    socket_.close();
    run_zygote(std::move(zygotes), executors, worker_main, parent);
  }
  if (zygote_ < 0) throw std::system_error(errno, std::generic_category(), "viva: cannot fork");
}

ProcessPool::~ProcessPool() {
  closing_ = true;
  // The zygote sees the end and takes its workers along; so does the pool's thread.
  socket_.shut_down();
  if (thread_.joinable()) thread_.join();
  reap_zygote();
}

void ProcessPool::reap_zygote() {
  constexpr milliseconds kPatience(5000);
  bool gone = false;
  wait_for_end(zygote_, kPatience, gone);
  if (gone) return;
  // The kernel ends the workers with it.
  ::kill(zygote_, SIGKILL);
  wait_for_end(zygote_, kPatience, gone);
}

void ProcessPool::watch() {
  if (!thread_.joinable()) thread_ = std::thread([this] { receive_reports(); });
}

void ProcessPool::start(std::int64_t executor) {
  {
    const std::lock_guard lock(mutex_);
    statuses_[static_cast<std::size_t>(executor)] = {true, 0, {}, 0};
  }
  socket_.send(ZygoteRequest{ZygoteRequest::kStart, static_cast<std::int32_t>(executor)});
}

void ProcessPool::kill(std::int64_t executor) {
  socket_.send(ZygoteRequest{ZygoteRequest::kKill, static_cast<std::int32_t>(executor)});
}

ProcessPool::Status ProcessPool::status(std::int64_t executor) const {
  const std::lock_guard lock(mutex_);
  if (!broken_.empty()) throw CommError(broken_);
  return statuses_[static_cast<std::size_t>(executor)];
}

void ProcessPool::receive_reports() {
  while (const auto report = socket_.receive<ZygoteReport>()) {
    {
      const std::lock_guard lock(mutex_);
      Status& status = statuses_[static_cast<std::size_t>(report->executor)];
      if (report->kind == ZygoteReport::kStarted) {
        status.pid = report->pid;
        continue;
      }
      status.running = false;
      if (report->kind == ZygoteReport::kEnded) {
        status.end = {report->exit_code, report->signal};
      } else {
        status.error = report->exit_code;
      }
    }
    notify_(report->executor);
  }
  note_end_of_zygote();
  for (std::int64_t executor = 0; executor < executors_; ++executor) notify_(executor);
}

void ProcessPool::note_end_of_zygote() {
  if (closing_) return;
  bool gone = false;
  const auto end = wait_for_end(zygote_, milliseconds(1000), gone);
  const std::lock_guard lock(mutex_);
  broken_ = fmt::format("the process that starts the workers (pid {}) has ended{}: the workers ended with it", zygote_,
                        end ? " by " + to_string(*end) : "");
}

}  // namespace viva::distributed
