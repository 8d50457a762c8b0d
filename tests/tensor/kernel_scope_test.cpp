// KernelScope: what holds within it, and that the host's settings are as before after it.
#include "viva/tensor/kernel_scope.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <limits>
#include <thread>

#include "tests/tensor/host_settings.h"

namespace viva {
namespace {

// A division that the compiler must leave to the processor, where it stands.
double divide(double a, double b) {
  volatile const double dividend = a, divisor = b;
  volatile const double quotient = dividend / divisor;
  return quotient;
}

const double kSmallest = std::numeric_limits<double>::min();

TEST(KernelScope, RoundsToNearestWhateverTheHostDoes) {
  const double nearest = divide(1, 3);
  for (const std::uint64_t control : host_float_controls()) {
    const HostSettings host(control, 1);
    const KernelScope scope;
    EXPECT_EQ(divide(1, 3), nearest);
    EXPECT_EQ(divide(-1, 3), -nearest);
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  }
}

TEST(KernelScope, TakesAndGivesSubnormalNumbersAsZero) {
  const double subnormal = divide(kSmallest, 4);
  ASSERT_GT(subnormal, 0) << "the host has subnormal numbers";
  const KernelScope scope;
  EXPECT_EQ(divide(kSmallest, 4), 0) << "a subnormal result";
  EXPECT_EQ(divide(subnormal, kSmallest), 0) << "a subnormal operand";
}

TEST(KernelScope, RestoresTheHostsFloatControl) {
  for (const std::uint64_t control : host_float_controls()) {
    const HostSettings host(control, 1);
    { const KernelScope scope; }
    EXPECT_EQ(float_control::current(), control);
  }
}

TEST(KernelScope, LeavesTheHostsExceptionFlagsAlone) {
  std::feclearexcept(FE_ALL_EXCEPT);
  {
    const KernelScope scope;
    divide(1, 0);
  }
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), 0) << "no flag of ours is left";
  std::feraiseexcept(FE_INVALID);
  { const KernelScope scope; }
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), FE_INVALID) << "no flag of the host is lost";
  std::feclearexcept(FE_ALL_EXCEPT);
}

#if defined(__x86_64__)
TEST(KernelScope, MasksExceptionsThatTheHostTraps) {
  constexpr std::uint64_t kTrapDivisionByZero = 0x1F80 & ~std::uint64_t{0x200};
  const HostSettings host(kTrapDivisionByZero, 1);
  {
    const KernelScope scope;
    EXPECT_EQ(divide(1, 0), std::numeric_limits<double>::infinity()) << "and the process is alive";
  }
  EXPECT_EQ(float_control::current(), kTrapDivisionByZero);
}
#endif

TEST(KernelScope, RunsOneOpenMpThreadAndRestoresTheHosts) {
  const HostSettings host(float_control::current(), 3);
  if (openmp_threads::current() != 3) GTEST_SKIP() << "oneDNN was built without OpenMP";
  {
    const KernelScope scope;
    EXPECT_EQ(openmp_threads::current(), 1);
  }
  EXPECT_EQ(openmp_threads::current(), 3);
}

TEST(KernelScope, Nests) {
  const std::uint64_t control = host_float_controls().at(1);
  const HostSettings host(control, 3);
  const int threads = openmp_threads::current();
  {
    const KernelScope outer;
    { const KernelScope inner; }
    EXPECT_EQ(float_control::current() & float_control::kPinned, float_control::kPinned) << "the outer one still holds";
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
    EXPECT_EQ(openmp_threads::current(), 1);
  }
  EXPECT_EQ(float_control::current(), control);
  EXPECT_EQ(openmp_threads::current(), threads);
}

TEST(KernelScope, BelongsToItsThread) {
  const KernelScope scope;
  bool subnormal_elsewhere = false;
  std::thread([&subnormal_elsewhere] {
    const HostSettings host(host_float_controls().front(), 1);
    { const KernelScope own; }
    subnormal_elsewhere = divide(kSmallest, 4) > 0;
  }).join();
  EXPECT_TRUE(subnormal_elsewhere) << "a scope here changes nothing there";
  EXPECT_EQ(divide(kSmallest, 4), 0) << "the end of a scope there changes nothing here";
}

}  // namespace
}  // namespace viva
