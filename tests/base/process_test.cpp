// How processes end in words, and how many threads this one has.
#include "viva/base/process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <thread>

namespace viva {
namespace {

TEST(ProcessEnd, FromAStatusAndInWords) {
  EXPECT_EQ(end_of_status(W_EXITCODE(3, 0)), (ProcessEnd{3, 0}));
  EXPECT_EQ(end_of_status(W_EXITCODE(0, SIGSEGV)), (ProcessEnd{0, SIGSEGV}));
  EXPECT_EQ(to_string(ProcessEnd{3, 0}), "exit code 3");
  EXPECT_EQ(to_string(ProcessEnd{0, SIGSEGV}), "signal 11 (SIGSEGV)");
  EXPECT_EQ(to_string(ProcessEnd{0, 200}), "signal 200");
}

TEST(Threads, AreCounted) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer has a thread of its own";
#endif
  if (!is_single_threaded()) GTEST_SKIP() << "this process has " << count_threads() << " threads";
  std::jthread other([](const std::stop_token& stop) {
    while (!stop.stop_requested()) std::this_thread::yield();
  });
  EXPECT_EQ(count_threads(), 2);
  EXPECT_FALSE(is_single_threaded());
  other.request_stop();
  other.join();
  EXPECT_TRUE(is_single_threaded());
}

}  // namespace
}  // namespace viva
