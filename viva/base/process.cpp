#include "viva/base/process.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

namespace viva {

ProcessEnd end_of_status(int status) {
  if (WIFSIGNALED(status)) return {0, WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

std::string to_string(const ProcessEnd& end) {
  if (end.signal == 0) return fmt::format("exit code {}", end.exit_code);
  const char* name = ::sigabbrev_np(end.signal);
  return name == nullptr ? fmt::format("signal {}", end.signal) : fmt::format("signal {} (SIG{})", end.signal, name);
}

int count_threads() {
  const auto close = [](DIR* directory) { ::closedir(directory); };
  const std::unique_ptr<DIR, decltype(close)> tasks(::opendir("/proc/self/task"), close);
  if (!tasks) return 0;
  int threads = 0;
  while (const dirent* entry = ::readdir(tasks.get())) threads += entry->d_name[0] != '.' ? 1 : 0;
  return threads;
}

bool is_single_threaded() {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    if (count_threads() == 1) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace viva
