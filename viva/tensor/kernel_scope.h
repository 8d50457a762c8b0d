// KernelScope: the settings under which every number in viva is computed.
#pragma once

#include <cstdint>

namespace viva {

// While it lives, this thread rounds to nearest, takes and gives subnormal numbers as zero, masks floating-point
// exceptions and starts no OpenMP threads in kernels; the destructor restores what the host had set. Nests freely and
// costs nanoseconds. Must end on the thread it began on, innermost first.
//
// Note [Pinned kernels]: some kernels of oneDNN give other bits with one and with two OpenMP threads, and any sum
// depends on the rounding mode. So a scope is held around the creation and the execution of every kernel, in the
// reference, in executors and in evaluation. Subnormals are flushed because the moments of a weight whose gradient
// stays zero decay into them, where one operation costs a hundred cycles.
class KernelScope {
 public:
  KernelScope();
  ~KernelScope();
  KernelScope(const KernelScope&) = delete;
  KernelScope& operator=(const KernelScope&) = delete;

 private:
  std::uint64_t host_float_control_;
  int host_openmp_threads_;
};

}  // namespace viva
