#include <atomic>
#include <cstdint>
#include <vector>

#include "bench/machine.h"
#include "bench/measure.h"
#include "viva/base/aligned_buffer.h"
#include "viva/base/error.h"

namespace viva::bench {
namespace {

// Short, so that a batch which another program interrupts is one of many and the median overlooks it.
constexpr std::int64_t kRounds = 1'000;
constexpr int kBatches = 41;

struct alignas(kAlignment) Line {
  std::atomic<std::int64_t> turn = 0;
};

}  // namespace

double ping_pong_ns() {
  if (allowed_cpus().size() < 2) return 0;
  std::vector<double> nanoseconds;
  for (int batch = 0; batch < kBatches; ++batch) {
    Line line;
    // Thread 0 makes the turn odd, thread 1 makes it even.
    const double seconds = seconds_together(2, [&line](int thread) {
      for (std::int64_t round = 0; round < kRounds; ++round) {
        while (line.turn.load(std::memory_order_acquire) != 2 * round + thread) {
        }
        line.turn.store(2 * round + thread + 1, std::memory_order_release);
      }
    });
    if (line.turn != 2 * kRounds) throw Error("bench: ping_pong: turns were lost");
    nanoseconds.push_back(seconds / kRounds * 1e9);
  }
  return spread_of(nanoseconds).median;
}

}  // namespace viva::bench
