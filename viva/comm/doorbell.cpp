#include "viva/comm/doorbell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <ctime>

#include <climits>

namespace viva::comm {

void Doorbell::ring() {
  rings_.fetch_add(1, std::memory_order_acq_rel);
  ::syscall(SYS_futex, &rings_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool Doorbell::wait(std::uint32_t seen, Clock::time_point deadline) const {
  // FUTEX_WAIT_BITSET takes a moment of CLOCK_MONOTONIC, which is steady_clock's.
  const auto until = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline.time_since_epoch()).count();
  constexpr std::int64_t kSecond = 1'000'000'000;
  const timespec moment{static_cast<time_t>(until / kSecond), static_cast<long>(until % kSecond)};
  while (rings() == seen) {
    if (Clock::now() >= deadline) return false;
    // An interruption or another value than `seen` is found out above.
    ::syscall(SYS_futex, &rings_, FUTEX_WAIT_BITSET, seen, &moment, nullptr, FUTEX_BITSET_MATCH_ANY);
  }
  return true;
}

}  // namespace viva::comm
