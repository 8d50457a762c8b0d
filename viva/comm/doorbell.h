// Doorbell: how one thread wakes another one, also in another process.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace viva::comm {

// A futex. It may lie in zeroed shared memory and holds nothing but a number, so whoever dies beside it leaves nothing
// locked. What the ringing thread wrote before is seen by who has noticed the ring. Thread- and process-safe.
//
// Who waits reads rings() first, then looks whether what it waits for has come, and then waits: no ring is missed.
class Doorbell {
 public:
  using Clock = std::chrono::steady_clock;

  std::uint32_t rings() const { return rings_.load(std::memory_order_acquire); }
  void ring();
  // Until rings() is no longer `seen`; false where the deadline comes first.
  bool wait(std::uint32_t seen, Clock::time_point deadline) const;

 private:
  std::atomic<std::uint32_t> rings_{0};
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
};

}  // namespace viva::comm
