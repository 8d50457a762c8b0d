// Shared memory: one memory in all processes, and what a process may not touch ends it.
#include "viva/base/shared_mapping.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <functional>
#include <limits>
#include <new>

#include "viva/base/process.h"

namespace viva {
namespace {

ProcessEnd end_of_child(const std::function<void()>& work) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    // A sanitizer's handler would turn the signal into an exit.
    std::signal(SIGSEGV, SIG_DFL);
    work();
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return end_of_status(status);
}

TEST(SharedMapping, IsZeroedAndOnAPage) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, page_size(), 5 * page_size() + 1}) {
    const SharedBytes bytes = make_shared_bytes(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.get()) % page_size(), 0U);
    EXPECT_TRUE(std::all_of(bytes.get(), bytes.get() + size, [](std::byte b) { return b == std::byte{0}; }));
  }
}

TEST(SharedMapping, AChildWritesTheSameMemory) {
  const SharedBytes bytes = make_shared_bytes(10'000);
  EXPECT_EQ(end_of_child([&] { bytes.get()[9'999] = std::byte{7}; }), ProcessEnd{});
  EXPECT_EQ(bytes.get()[9'999], std::byte{7});
}

TEST(SharedMapping, AccessIsTheCallingProcesssOwn) {
  const SharedBytes bytes = make_shared_bytes(10'000);
  volatile std::byte* const last = bytes.get() + 9'999;
  const ProcessEnd killed{0, SIGSEGV};
  EXPECT_EQ(end_of_child([&] {
              set_access(bytes.get(), 10'000, Access::kRead);
              *last = std::byte{7};
            }),
            killed);
  EXPECT_EQ(end_of_child([&] {
              set_access(bytes.get(), 10'000, Access::kNone);
              [[maybe_unused]] const std::byte read = *last;
            }),
            killed);
  EXPECT_EQ(end_of_child([&] {
              set_access(bytes.get(), 10'000, Access::kRead);
              set_access(bytes.get(), 10'000, Access::kReadWrite);
              *last = std::byte{8};
            }),
            ProcessEnd{});
  EXPECT_EQ(bytes.get()[9'999], std::byte{8});
  *last = std::byte{9};
}

TEST(SharedMapping, MoreThanThereIsIsRefused) {
  EXPECT_THROW(make_shared_bytes(std::numeric_limits<std::size_t>::max()), std::bad_alloc);
  EXPECT_THROW(make_shared_bytes(std::numeric_limits<std::size_t>::max() / 2), std::bad_alloc);
}

}  // namespace
}  // namespace viva
