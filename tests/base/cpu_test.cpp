// The processors that this process may use: what a cgroup's text grants, and what the affinity mask leaves.
#include "viva/base/cpu.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sched.h>

#include <string>
#include <thread>

namespace viva {
namespace {

TEST(CpusOfCpuMax, RoundsUpToWholeCpus) {
  EXPECT_EQ(cpus_of_cpu_max("100000 100000"), 1);
  EXPECT_EQ(cpus_of_cpu_max("150000 100000"), 2);
  EXPECT_EQ(cpus_of_cpu_max("400000 100000"), 4);
  EXPECT_EQ(cpus_of_cpu_max("400001 100000"), 5);
  EXPECT_EQ(cpus_of_cpu_max("1000 100000"), 1) << "a sliver of one processor is still one to run on";
  EXPECT_EQ(cpus_of_cpu_max("150000 100000\n"), 2);
}

TEST(CpusOfCpuMax, HasNoLimit) {
  for (const char* text : {"max 100000", "max", "-1 100000"}) EXPECT_EQ(cpus_of_cpu_max(text), 0) << text;
}

TEST(CpusOfCpuMax, DoesNotTrustTheText) {
  for (const char* text : {"", " ", "100000", "100000 0", "0 100000", "100000 -100000", "many few", "nan nan", "inf 1"})
    EXPECT_EQ(cpus_of_cpu_max(text), 0) << '"' << text << '"';
  EXPECT_GT(cpus_of_cpu_max("1e300 1"), 0) << "an absurd quota must not overflow into a limit below 1";
}

RC_GTEST_PROP(CpusOfCpuMax, IsTheQuotientRoundedUp, ()) {
  const auto quota = *rc::gen::inRange(1, 100'000'000), period = *rc::gen::inRange(1'000, 1'000'001);
  RC_ASSERT(cpus_of_cpu_max(std::to_string(quota) + " " + std::to_string(period)) == (quota + period - 1) / period);
}

TEST(AvailableCpus, IsAtLeastOneAndAtMostTheAffinityMask) {
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  EXPECT_GE(available_cpus(), 1);
  EXPECT_LE(available_cpus(), CPU_COUNT(&mask));
}

TEST(AvailableCpus, IsOneUnderAMaskOfOneCpu) {
  int masked = 0;
  // The mask belongs to the thread and ends with it.
  std::thread([&masked] {
    cpu_set_t mask;
    ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
    int first = 0;
    while (!CPU_ISSET(first, &mask)) ++first;
    CPU_ZERO(&mask);
    CPU_SET(first, &mask);
    ASSERT_EQ(sched_setaffinity(0, sizeof mask, &mask), 0);
    masked = available_cpus();
  }).join();
  EXPECT_EQ(masked, 1);
}

}  // namespace
}  // namespace viva
