// Barrier: the meeting point of an executor's threads.
#pragma once

#include <atomic>
#include <cstdint>

namespace viva::comm {

// What a thread wrote before it arrived is seen by every thread that leaves. Reusable; thread-safe.
class Barrier {
 public:
  // `spin`: whether waiting threads spin for some tens of microseconds before they sleep. That pays where every thread
  // has a processor of its own and starves the others where not.
  Barrier(std::int64_t threads, bool spin) : threads_(threads), spin_(spin) {}

  // Waits until all have arrived. False where abandon() was called.
  bool arrive_and_wait();

  // Lets everyone go, now and for ever.
  void abandon();

 private:
  const std::int64_t threads_;
  const bool spin_;
  alignas(64) std::atomic<std::int64_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> round_{0};
  std::atomic<bool> abandoned_{false};
};

}  // namespace viva::comm
