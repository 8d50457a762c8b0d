#include "viva/distributed/zygote.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "viva/base/descriptor.h"
#include "viva/base/process.h"

namespace viva::distributed {
namespace {

// A child ends with its parent. The kernel sends the signal when the *thread* that forked the child ends: here that is
// the zygote's only one, and above it the host's first.
void end_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // It may have ended before.
  if (::getppid() != parent) ::_exit(0);
}

void set_name(const std::string& name) { ::prctl(PR_SET_NAME, name.c_str()); }

// The host's handlers are not for these processes: a signal ends a worker, and the coordinator says so. What a terminal
// or a supervisor sends to the whole group is for the coordinator to act upon.
void reset_signals() {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction now = {};
    if (::sigaction(number, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) ::signal(number, SIG_DFL);
  }
  ::signal(SIGCHLD, SIG_DFL);
  for (const int number : {SIGINT, SIGTERM}) ::signal(number, SIG_IGN);
}

class Zygote {
 public:
  Zygote(comm::MessageSocket socket, std::int64_t executors, const WorkerMain& worker_main)
      : socket_(std::move(socket)), worker_main_(worker_main), pids_(static_cast<std::size_t>(executors), 0) {
    sigset_t ended;
    ::sigemptyset(&ended);
    ::sigaddset(&ended, SIGCHLD);
    ::sigprocmask(SIG_SETMASK, &ended, nullptr);
    ended_ = Descriptor(::signalfd(-1, &ended, SFD_CLOEXEC | SFD_NONBLOCK));
  }

  // Until the coordinator has gone.
  void serve() {
    for (;;) {
      std::array<pollfd, 2> sources{{{socket_.descriptor(), POLLIN, 0}, {ended_.get(), POLLIN, 0}}};
      if (::poll(sources.data(), sources.size(), -1) < 0 && errno != EINTR) return;
      if (sources[1].revents != 0) reap();
      if (sources[0].revents == 0) continue;
      const auto request = socket_.receive<ZygoteRequest>();
      if (!request) return;
      request->kind == ZygoteRequest::kStart ? start(request->executor) : kill(request->executor);
    }
  }

  void kill_all() {
    for (const pid_t pid : pids_) {
      if (pid > 0) ::kill(pid, SIGKILL);
    }
    while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
    }
  }

 private:
  void start(std::int32_t executor) {
    const pid_t parent = ::getpid(), pid = ::fork();
    if (pid == 0) run_worker(executor, parent);
    if (pid < 0) {
      socket_.send(ZygoteReport{ZygoteReport::kNotStarted, executor, 0, errno, 0});
      return;
    }
    pids_[static_cast<std::size_t>(executor)] = pid;
    socket_.send(ZygoteReport{ZygoteReport::kStarted, executor, pid, 0, 0});
  }

  [[noreturn]] void run_worker(std::int32_t executor, pid_t parent) {
    end_with(parent);
    set_name("viva worker " + std::to_string(executor));
    socket_.close();
    ended_.close();
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    worker_main_(executor, parent);
    ::_exit(0);
  }

  void kill(std::int32_t executor) {
    // Not reaped yet, so the number is still its own.
    if (const pid_t pid = pids_[static_cast<std::size_t>(executor)]; pid > 0) ::kill(pid, SIGKILL);
  }

  void reap() {
    signalfd_siginfo unused;
    while (::read(ended_.get(), &unused, sizeof unused) > 0) {
    }
    int status = 0;
    for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      for (std::size_t executor = 0; executor < pids_.size(); ++executor) {
        if (pids_[executor] != pid) continue;
        pids_[executor] = 0;
        const ProcessEnd end = end_of_status(status);
        socket_.send(
            ZygoteReport{ZygoteReport::kEnded, static_cast<std::int32_t>(executor), pid, end.exit_code, end.signal});
      }
    }
  }

  comm::MessageSocket socket_;
  const WorkerMain& worker_main_;
  std::vector<pid_t> pids_;  // by executor; 0: none
  Descriptor ended_;         // readable when a child has ended
};

}  // namespace

void run_zygote(comm::MessageSocket socket, std::int64_t executors, const WorkerMain& worker_main,
                pid_t parent) noexcept {
  end_with(parent);
  set_name("viva zygote");
  reset_signals();
  Zygote zygote(std::move(socket), executors, worker_main);
  zygote.serve();
  zygote.kill_all();
  ::_exit(0);
}

}  // namespace viva::distributed
