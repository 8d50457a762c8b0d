// ProcessPool: the coordinator's side of its worker processes: it has the zygote start and end them, and knows at once
// how one has ended.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "viva/base/process.h"
#include "viva/comm/message_socket.h"
#include "viva/distributed/zygote.h"

namespace viva::distributed {

// One worker process an executor at most. Constructed and destroyed by one thread; the rest is for any.
class ProcessPool {
 public:
  // Called from the pool's own thread when something has happened to an executor's process: status() has it.
  using Notify = std::function<void(std::int64_t executor)>;

  // Forks the zygote, and with it everything that `worker_main` refers to. ConfigError where this process has more than
  // one thread: a fork would take the others' locks along and never release them. CommError, std::system_error.
  ProcessPool(std::int64_t executors, WorkerMain worker_main, Notify notify);
  // Ends every process that was started.
  ~ProcessPool();
  ProcessPool(const ProcessPool&) = delete;
  ProcessPool& operator=(const ProcessPool&) = delete;

  // Starts the pool's thread, which must not exist while somebody forks. May be called again.
  void watch();

  // Asks for a process for the executor, which has none. What comes of it, status() says, as with kill().
  void start(std::int64_t executor);
  // Asks for its end by SIGKILL.
  void kill(std::int64_t executor);

  struct Status {
    bool running = false;  // from start() on
    pid_t pid = 0;         // 0 as long as it is not known
    ProcessEnd end;        // of the last process, where none is running
    int error = 0;         // the errno that kept it from being started, or 0
  };
  // CommError where the zygote has gone.
  Status status(std::int64_t executor) const;

 private:
  void receive_reports();
  void note_end_of_zygote();
  void reap_zygote();

  const std::int64_t executors_;
  const Notify notify_;
  comm::MessageSocket socket_;
  pid_t zygote_ = 0;
  std::atomic<bool> closing_{false};

  mutable std::mutex mutex_;  // guards the following
  std::vector<Status> statuses_;
  std::string broken_;  // why no process can be started any more

  std::thread thread_;
};

}  // namespace viva::distributed
