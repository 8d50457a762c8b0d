// The doorbell: no ring is missed, between threads and between processes, and no wait outlasts its deadline.
#include "viva/comm/doorbell.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>
#include <thread>

#include "viva/base/shared_mapping.h"

namespace viva::comm {
namespace {

using Clock = Doorbell::Clock;
using std::chrono::milliseconds;

TEST(Doorbell, ARingBeforeTheWaitCounts) {
  Doorbell bell;
  const std::uint32_t seen = bell.rings();
  bell.ring();
  EXPECT_TRUE(bell.wait(seen, Clock::now()));
  EXPECT_FALSE(bell.wait(bell.rings(), Clock::now()));
}

TEST(Doorbell, ADeadlineEndsTheWait) {
  const Doorbell bell;
  const Clock::time_point begin = Clock::now();
  EXPECT_FALSE(bell.wait(bell.rings(), begin + milliseconds(30)));
  EXPECT_GE(Clock::now() - begin, milliseconds(30));
  EXPECT_LT(Clock::now() - begin, milliseconds(5000));
}

// Two sides answer each other: a ring that got lost would end the game at its deadline.
void play(Doorbell& mine, Doorbell& theirs, std::uint32_t rounds, bool serve) {
  for (std::uint32_t i = 0; i < rounds; ++i) {
    if (serve) theirs.ring();
    if (!mine.wait(i, Clock::now() + std::chrono::seconds(20))) ::_exit(1);
    if (!serve) theirs.ring();
  }
}

TEST(Doorbell, NoRingIsLostBetweenThreads) {
  Doorbell left, right;
  std::thread other([&] { play(right, left, 5000, false); });
  play(left, right, 5000, true);
  other.join();
  EXPECT_EQ(left.rings(), 5000U);
  EXPECT_EQ(right.rings(), 5000U);
}

TEST(Doorbell, NoRingIsLostBetweenProcesses) {
  const SharedBytes memory = make_shared_bytes(2 * sizeof(Doorbell));
  auto* const bells = new (memory.get()) Doorbell[2];
  const pid_t pid = ::fork();
  if (pid == 0) {
    play(bells[1], bells[0], 5000, false);
    ::_exit(0);
  }
  play(bells[0], bells[1], 5000, true);
  int status = -1;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace viva::comm
