// The barrier: nobody passes early, and nobody stays behind when it is abandoned.
#include "viva/comm/barrier.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace viva::comm {
namespace {

class BarrierOf : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Waiting, BarrierOf, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "spinning" : "sleeping"; });

// A plain counter, raised by each thread once a round: every thread must see all of the round's work after the
// barrier, and none of the next round's before the second one.
TEST_P(BarrierOf, EveryThreadSeesTheWholeRound) {
  for (const std::int64_t threads : {1, 2, 3, 8}) {
    Barrier barrier(threads, GetParam());
    std::vector<std::int64_t> work(static_cast<std::size_t>(threads), 0);
    std::atomic<int> wrong{0};
    std::vector<std::thread> team;
    for (std::size_t id = 0; id < work.size(); ++id) {
      team.emplace_back([&, id] {
        for (std::int64_t round = 1; round <= 300; ++round) {
          work[id] = round;
          if (!barrier.arrive_and_wait()) ++wrong;
          for (const std::int64_t done : work) wrong += done == round ? 0 : 1;
          if (!barrier.arrive_and_wait()) ++wrong;
        }
      });
    }
    for (std::thread& thread : team) thread.join();
    EXPECT_EQ(wrong, 0) << threads;
  }
}

TEST_P(BarrierOf, AbandoningFreesWhoWaitsAndWhoComesLater) {
  Barrier barrier(3, GetParam());
  std::atomic<int> freed{0};
  std::thread waiting([&] { freed += barrier.arrive_and_wait() ? 0 : 1; });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(freed, 0);
  barrier.abandon();
  waiting.join();
  std::thread late([&] { freed += barrier.arrive_and_wait() ? 0 : 1; });
  late.join();
  EXPECT_EQ(freed, 2);
}

}  // namespace
}  // namespace viva::comm
