// The processor's floating-point control register: rounding mode, subnormals, exception masks and flags.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#elif !defined(__aarch64__)
#error "viva pins the floating-point control register, which it knows for x86-64 and AArch64 only"
#endif

namespace viva::float_control {

#if defined(__x86_64__)
// MXCSR: round to nearest, every exception masked (0x1F80), subnormal results (bit 15) and operands (bit 6) are zero.
inline constexpr std::uint64_t kPinned = 0x1F80 | 1 << 15 | 1 << 6;

inline std::uint64_t current() { return _mm_getcsr(); }
inline void set(std::uint64_t control) { _mm_setcsr(static_cast<unsigned>(control)); }
#else
// FPCR: round to nearest, no traps, subnormals are zero (bit 24).
inline constexpr std::uint64_t kPinned = 1 << 24;

inline std::uint64_t current() {
  std::uint64_t control;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  return control;
}
inline void set(std::uint64_t control) { asm volatile("msr fpcr, %0" : : "r"(control)); }
#endif

}  // namespace viva::float_control
