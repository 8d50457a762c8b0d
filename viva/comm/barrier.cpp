#include "viva/comm/barrier.h"

#include "viva/base/cpu.h"

namespace viva::comm {

namespace {
constexpr int kSpins = 2000;
}

bool Barrier::arrive_and_wait() {
  const std::uint32_t round = round_.load(std::memory_order_acquire);
  // After the round was read: abandon() first sets its mark and then ends the round, so none can be missed.
  if (abandoned_.load(std::memory_order_acquire)) return false;
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
    arrived_.store(0, std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_acq_rel);
    round_.notify_all();
  } else {
    for (int i = 0; spin_ && i < kSpins && round_.load(std::memory_order_acquire) == round; ++i) pause_processor();
    while (round_.load(std::memory_order_acquire) == round) round_.wait(round, std::memory_order_acquire);
  }
  return !abandoned_.load(std::memory_order_acquire);
}

void Barrier::abandon() {
  abandoned_.store(true, std::memory_order_release);
  round_.fetch_add(1, std::memory_order_acq_rel);
  round_.notify_all();
}

}  // namespace viva::comm
