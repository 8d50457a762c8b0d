// What tests of worker processes see of the system.
#pragma once

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "viva/base/process.h"
#include "viva/base/shared_mapping.h"

namespace viva::test {

inline std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(parent) + "/task")) {
    std::ifstream list(task.path() / "children");
    for (pid_t child; list >> child;) children.push_back(child);
  }
  return children;
}

// The processes that compute for the Trainer that this process has.
inline std::vector<pid_t> worker_processes() {
  const std::vector<pid_t> zygote = children_of(::getpid());
  return zygote.size() == 1 ? children_of(zygote[0]) : std::vector<pid_t>{};
}

inline void kill_workers() {
  for (const pid_t worker : worker_processes()) ::kill(worker, SIGKILL);
}

inline void close_all_descriptors() {
  if (::syscall(SYS_close_range, 0U, ~0U, 0U) != 0) std::abort();
}

inline std::size_t open_descriptors(pid_t pid = ::getpid()) {
  const std::filesystem::directory_iterator descriptors("/proc/" + std::to_string(pid) + "/fd");
  const auto count = static_cast<std::size_t>(std::distance(begin(descriptors), end(descriptors)));
  return pid == ::getpid() ? count - 1 : count;  // the one that reads the directory
}

inline std::size_t threads_of(pid_t pid) {
  const std::filesystem::directory_iterator threads("/proc/" + std::to_string(pid) + "/task");
  return static_cast<std::size_t>(std::distance(begin(threads), end(threads)));
}

// Under the thread sanitizer, which keeps a thread of its own, a process that has once had several threads never has a
// single one again.
inline void skip_unless_single_threaded() {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer has a thread of its own";
#endif
  if (!is_single_threaded()) GTEST_SKIP() << "this process has " << count_threads() << " threads";
}

class ProcessTest : public testing::Test {
 protected:
  void SetUp() override { skip_unless_single_threaded(); }
};

}  // namespace viva::test
