// The plan of the canonical sum, carried out on text: what is added to what must be the tree of the definition.
#include "viva/comm/canonical_tree.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <span>
#include <string>
#include <vector>

namespace viva::comm {
namespace {

// The definition: one worker is itself, otherwise left + right, split at the largest power of two below their number.
std::string by_definition(std::int64_t lo, std::int64_t hi) {
  if (hi - lo == 1) return std::to_string(lo);
  std::int64_t power = 1;
  while (2 * power < hi - lo) power *= 2;
  return fmt::format("({}+{})", by_definition(lo, lo + power), by_definition(lo + power, hi));
}

std::string sum_of(const std::string& a, const std::string& b) { return fmt::format("({}+{})", a, b); }

// What executors and owners do with a plan. A slot or place that is read before it is written shows as "?".
std::string by_plan(const ReductionPlan& plan) {
  std::vector<std::string> operands;
  std::int64_t next_worker = 0;
  for (const auto& block : plan.blocks()) {
    EXPECT_EQ(block.workers.lo, next_worker);
    EXPECT_EQ(block.first_partial, operands.size());
    next_worker = block.workers.hi;
    std::vector<std::string> slots(static_cast<std::size_t>(block.slots), "?");
    std::size_t top = 0;
    for (std::int64_t w = block.workers.lo; w < block.workers.hi; ++w) {
      slots.at(top++) = std::to_string(w);
      for (std::int64_t m = block.merges.at(static_cast<std::size_t>(w - block.workers.lo)); m > 0; --m) {
        --top;
        slots.at(top - 1) = sum_of(slots.at(top - 1), slots.at(top));
      }
    }
    EXPECT_EQ(block.num_partials, top);
    operands.insert(operands.end(), slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(top));
  }
  EXPECT_EQ(operands.size(), plan.partials().size());
  for (std::size_t p = 0; p < operands.size(); ++p) {
    EXPECT_EQ(operands[p], by_definition(plan.partials()[p].lo, plan.partials()[p].hi));
  }
  const std::size_t partials = operands.size();
  operands.resize(partials + plan.places(), "?");
  std::size_t root = 0;
  for (const Addition& a : plan.additions()) {
    root = partials + a.out;
    operands.at(root) = sum_of(operands.at(a.left), operands.at(a.right));
  }
  return operands.at(root);
}

TEST(SplitOf, TheLargestPowerOfTwoBelowTheCount) {
  const std::vector<std::int64_t> expected{1, 2, 2, 4, 4, 4, 4, 8};
  for (std::int64_t count = 2; count <= 9; ++count) {
    EXPECT_EQ(split_of({0, count}), expected[static_cast<std::size_t>(count - 2)]) << count;
    EXPECT_EQ(split_of({10, 10 + count}), 10 + expected[static_cast<std::size_t>(count - 2)]) << count;
  }
}

TEST(ReductionPlan, IsTheDefinitionForAnyWorkersAndExecutors) {
  for (std::int64_t workers = 1; workers <= 40; ++workers) {
    for (std::int64_t executors = 1; executors <= 45; ++executors) {
      ASSERT_EQ(by_plan(ReductionPlan(workers, executors)), by_definition(0, workers)) << workers << " " << executors;
    }
  }
}

RC_GTEST_PROP(ReductionPlanProperty, LargePlansToo, ()) {
  const auto workers = *rc::gen::inRange<std::int64_t>(1, 700);
  const auto executors = *rc::gen::inRange<std::int64_t>(1, 200);
  RC_ASSERT(by_plan(ReductionPlan(workers, executors)) == by_definition(0, workers));
}

// At most ⌈log2 W⌉ + 1 gradient buffers an executor.
RC_GTEST_PROP(ReductionPlanProperty, BuffersAreFew, ()) {
  const auto workers = *rc::gen::inRange<std::int64_t>(1, 2000);
  const auto executors = *rc::gen::inRange<std::int64_t>(1, 300);
  const ReductionPlan plan(workers, executors);
  const auto log2_up = static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(workers - 1)));
  for (const auto& block : plan.blocks()) RC_ASSERT(block.slots <= log2_up + 1);
  RC_ASSERT(plan.places() <= static_cast<std::size_t>(log2_up));
}

// The bound on buffers may move the ends of blocks, but not far: the largest has at most two workers more than an even
// share, or an eighth of it.
TEST(ReductionPlan, BlocksAreNearlyEven) {
  for (std::int64_t workers = 1; workers <= 600; ++workers) {
    for (std::int64_t executors = 1; executors <= 20; ++executors) {
      const ReductionPlan plan(workers, executors);
      for (const auto& block : plan.blocks()) {
        const std::int64_t size = block.workers.hi - block.workers.lo, share = workers / executors;
        ASSERT_LE(size, share + 1 + std::max<std::int64_t>(1, share / 8)) << workers << " " << executors;
      }
    }
  }
}

// Values whose sum depends on the order tell the tree: ((0 1)(2 3)) 4.
TEST(CanonicalSum, OfValuesFollowsTheTree) {
  const std::vector<double> v{1e16, 3.3, -1e16, 7.7, 0.1};
  EXPECT_EQ(canonical_sum(v), ((v[0] + v[1]) + (v[2] + v[3])) + v[4]);
  EXPECT_EQ(canonical_sum({}), 0);
  EXPECT_EQ(canonical_sum(std::span(v).first(1)), 1e16);
}

}  // namespace
}  // namespace viva::comm
