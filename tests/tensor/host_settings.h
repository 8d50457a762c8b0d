// A host program's own floating-point and OpenMP settings, for tests that viva computes the same under all of them.
#pragma once

#include <cstdint>
#include <vector>

#include "viva/tensor/float_control.h"
#include "viva/tensor/openmp_threads.h"

namespace viva {

// Sets both for this thread, and takes them back at the end.
class HostSettings {
 public:
  HostSettings(std::uint64_t control, int openmp_threads)
      : saved_control_(float_control::current()), saved_threads_(openmp_threads::current()) {
    openmp_threads::set(openmp_threads);
    float_control::set(control);
  }
  ~HostSettings() {
    float_control::set(saved_control_);
    openmp_threads::set(saved_threads_);
  }
  HostSettings(const HostSettings&) = delete;
  HostSettings& operator=(const HostSettings&) = delete;

 private:
  std::uint64_t saved_control_;
  int saved_threads_;
};

// Control registers of unusual hosts: the default, each other rounding mode, and subnormals as zero.
inline std::vector<std::uint64_t> host_float_controls() {
#if defined(__x86_64__)
  constexpr std::uint64_t kDefault = 0x1F80, kRounding = 0x2000, kFlush = 0x8040;
#else
  constexpr std::uint64_t kDefault = 0, kRounding = 0x400000, kFlush = 0x1000000;
#endif
  return {kDefault, kDefault | kRounding, kDefault | 2 * kRounding, kDefault | 3 * kRounding, kDefault | kFlush};
}

}  // namespace viva
