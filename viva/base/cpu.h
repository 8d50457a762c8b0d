// The processors that this process may use.
#pragma once

#include <string>

namespace viva {

// The number of CPUs that this process may use, at least 1: its affinity mask, bounded by the cgroup's CPU quota
// (version 2 or 1) rounded up. Thread-safe.
int available_cpus();

// The whole CPUs granted by a cgroup v2 "cpu.max" text such as "150000 100000" (2), or 0 where there is no limit or
// the text is not understood.
int cpus_of_cpu_max(const std::string& cpu_max);

// Tells the processor that this thread is spinning.
inline void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace viva
