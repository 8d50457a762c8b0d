// The limit on restarts: a count within a window that moves.
#include "viva/distributed/recovery.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

namespace viva::distributed {
namespace {

using std::chrono::milliseconds;

TEST(RestartCount, AdmitsSoManyWithinTheWindow) {
  const RecoveryLimits limits{.restarts = 2, .window = std::chrono::seconds(1)};
  RestartCount count(limits);
  const RestartCount::Clock::time_point begin{};
  EXPECT_TRUE(count.admit(begin));
  EXPECT_TRUE(count.admit(begin + milliseconds(500)));
  EXPECT_FALSE(count.admit(begin + milliseconds(1000)));
  // The first one is more than a second ago.
  EXPECT_TRUE(count.admit(begin + milliseconds(1001)));
  EXPECT_FALSE(count.admit(begin + milliseconds(1400)));
}

// Whatever the times, no window holds more than were admitted by the limit, and none is refused without need.
RC_GTEST_PROP(RestartCountProperty, NoWindowHoldsMoreThanTheLimit, ()) {
  RecoveryLimits limits;
  limits.restarts = *rc::gen::inRange<std::int64_t>(0, 5);
  limits.window = milliseconds(*rc::gen::inRange(1, 50));
  RestartCount count(limits);
  std::vector<RestartCount::Clock::time_point> admitted;
  RestartCount::Clock::time_point now{};
  for (const int pause : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 30))) {
    now += milliseconds(pause);
    const auto recent = std::ranges::count_if(admitted, [&](const auto& time) { return now - time <= limits.window; });
    const bool admits = count.admit(now);
    RC_ASSERT(admits == (recent < limits.restarts));
    if (admits) admitted.push_back(now);
  }
}

}  // namespace
}  // namespace viva::distributed
