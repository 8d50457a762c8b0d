// The zygote: a process with one thread that forks the workers, so that each one starts from the same clean state.
//
// Messages, native structs over a MessageSocket. The coordinator asks, the zygote reports; nothing else is ever sent.
// The end of the socket ends the zygote and every worker.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>

#include "viva/comm/message_socket.h"

namespace viva::distributed {

struct ZygoteRequest {  // 8 bytes
  enum Kind : std::int32_t { kStart, kKill };
  Kind kind = kStart;  // a worker process for an executor that has none, or an end to the one that it has
  std::int32_t executor = 0;
};

struct ZygoteReport {  // 20 bytes
  enum Kind : std::int32_t { kStarted, kNotStarted, kEnded };
  Kind kind = kStarted;
  std::int32_t executor = 0;
  std::int32_t pid = 0;
  std::int32_t exit_code = 0;  // kNotStarted: the errno of fork()
  std::int32_t signal = 0;
};

// What a worker process runs: executor `executor`'s work, until the parent process is no longer `parent`.
using WorkerMain = std::function<void(std::int64_t executor, pid_t parent)>;

// The zygote's whole life; it runs in the process that the coordinator, `parent`, has just forked, and never comes
// back.
[[noreturn]] void run_zygote(comm::MessageSocket socket, std::int64_t executors, const WorkerMain& worker_main,
                             pid_t parent) noexcept;

}  // namespace viva::distributed
