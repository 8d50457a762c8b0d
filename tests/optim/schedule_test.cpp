// Schedules against their closed forms, at the boundaries above all, and what they refuse.
#include "viva/optim/schedule.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "viva/base/error.h"

namespace viva::optim {
namespace {

constexpr double kExact = 1e-15;

TEST(Schedule, ConstantIsOne) {
  for (const std::int64_t step : {0, 1, 1'000'000}) EXPECT_EQ(Schedule().factor(step), 1);
}

TEST(Schedule, WarmUpRisesToOneInItsLastStep) {
  const Schedule schedule(ScheduleKind::kConstant, {.warmup_steps = 4});
  EXPECT_EQ(schedule.factor(0), 0.25);
  EXPECT_EQ(schedule.factor(2), 0.75);
  EXPECT_EQ(schedule.factor(3), 1);
  EXPECT_EQ(schedule.factor(4), 1);
}

TEST(Schedule, StepFallsEveryPeriodAfterTheWarmUp) {
  const Schedule schedule(ScheduleKind::kStep, {.warmup_steps = 2, .period = 3, .gamma = 0.5});
  const std::vector<double> expected{0.5, 1, 1, 1, 1, 0.5, 0.5, 0.5, 0.25};
  for (std::size_t s = 0; s < expected.size(); ++s) {
    EXPECT_EQ(schedule.factor(static_cast<std::int64_t>(s)), expected[s]) << s;
  }
}

TEST(Schedule, LinearEndsAtItsFinalFactorAndStays) {
  const Schedule schedule(ScheduleKind::kLinear, {.warmup_steps = 2, .total_steps = 10, .final_factor = 0.2});
  EXPECT_EQ(schedule.factor(1), 1);
  EXPECT_EQ(schedule.factor(2), 1);
  EXPECT_NEAR(schedule.factor(6), 0.6, kExact);
  EXPECT_NEAR(schedule.factor(9), 0.3, kExact);
  EXPECT_NEAR(schedule.factor(10), 0.2, kExact);
  EXPECT_EQ(schedule.factor(1'000'000), schedule.factor(10));
}

TEST(Schedule, CosineIsHalfWayInTheMiddle) {
  const Schedule schedule(ScheduleKind::kCosine, {.warmup_steps = 10, .total_steps = 110, .final_factor = 0.1});
  EXPECT_EQ(schedule.factor(10), 1);
  EXPECT_NEAR(schedule.factor(35), 0.1 + 0.9 * (1 + std::sqrt(0.5)) / 2, kExact);
  EXPECT_NEAR(schedule.factor(60), 0.55, kExact);
  EXPECT_EQ(schedule.factor(110), 0.1);
  EXPECT_EQ(schedule.factor(5000), 0.1);
}

// A decay never rises, never leaves its bounds, and the same step always has the same factor.
RC_GTEST_PROP(ScheduleProperty, DecaysNeverRise, ()) {
  ScheduleSettings settings;
  settings.warmup_steps = *rc::gen::inRange<std::int64_t>(0, 50);
  settings.total_steps = settings.warmup_steps + *rc::gen::inRange<std::int64_t>(1, 200);
  settings.period = *rc::gen::inRange<std::int64_t>(1, 30);
  settings.final_factor = *rc::gen::inRange(0, 100) / 100.0;
  const auto kind = *rc::gen::element(ScheduleKind::kStep, ScheduleKind::kLinear, ScheduleKind::kCosine);
  const Schedule schedule(kind, settings);
  double before = 1;
  for (std::int64_t s = settings.warmup_steps; s < 300; ++s) {
    const double factor = schedule.factor(s);
    RC_ASSERT(factor <= before);
    if (kind != ScheduleKind::kStep) RC_ASSERT(factor >= settings.final_factor - kExact);
    before = factor;
  }
}

TEST(Schedule, SettingsOutsideTheirRangeAreRefusedByKey) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const auto key_of = [](ScheduleKind kind, const ScheduleSettings& settings) {
    try {
      const Schedule schedule(kind, settings);
    } catch (const ConfigError& error) {
      return error.key;
    }
    return std::string("accepted");
  };
  EXPECT_EQ(key_of(ScheduleKind::kConstant, {.warmup_steps = -1}), "schedule.warmup_steps");
  EXPECT_EQ(key_of(ScheduleKind::kStep, {}), "schedule.period");
  EXPECT_EQ(key_of(ScheduleKind::kStep, {.period = 1, .gamma = 0}), "schedule.gamma");
  EXPECT_EQ(key_of(ScheduleKind::kStep, {.period = 1, .gamma = kNan}), "schedule.gamma");
  EXPECT_EQ(key_of(ScheduleKind::kLinear, {}), "schedule.total_steps");
  EXPECT_EQ(key_of(ScheduleKind::kCosine, {.warmup_steps = 5, .total_steps = 5}), "schedule.total_steps");
  EXPECT_EQ(key_of(ScheduleKind::kCosine, {.total_steps = 5, .final_factor = -1}), "schedule.final_factor");
  EXPECT_EQ(key_of(ScheduleKind::kCosine, {.total_steps = 5, .final_factor = kNan}), "schedule.final_factor");
  EXPECT_EQ(key_of(ScheduleKind::kConstant, {.total_steps = -5, .final_factor = kNan}), "accepted");
}

}  // namespace
}  // namespace viva::optim
