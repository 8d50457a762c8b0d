// How many deaths of worker processes a training bears.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>

namespace viva::distributed {

struct RecoveryLimits {
  // A batch that ends so many worker processes in one step, one after the other, ends training.
  std::int64_t deaths_per_batch = 3;
  // So does an executor whose process has to be replaced more often than `restarts` times within `window`.
  std::int64_t restarts = 100;
  std::chrono::duration<double> window = std::chrono::seconds(60);
  // As long as so many processes are left, one that is lost for good, by that limit or because none can be started,
  // does not end training: another one computes its workers too. 0: it does.
  std::int64_t min_processes = 0;
};

// One executor's restarts. Used by one thread.
class RestartCount {
 public:
  using Clock = std::chrono::steady_clock;
  explicit RestartCount(const RecoveryLimits& limits) : limits_(limits) {}

  // Counts a restart at `now`; false where it is one too many.
  bool admit(Clock::time_point now) {
    while (!recent_.empty() && now - recent_.front() > limits_.window) recent_.pop_front();
    if (static_cast<std::int64_t>(recent_.size()) >= limits_.restarts) return false;
    recent_.push_back(now);
    return true;
  }

 private:
  const RecoveryLimits& limits_;
  std::deque<Clock::time_point> recent_;
};

}  // namespace viva::distributed
