// Random numbers: the published answers of Philox, and streams that are uniform, repeatable and distinct.
#include "viva/tensor/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace viva {
namespace {

using testing::ElementsAre;

// The known answers that the authors of Philox publish with it (Random123).
TEST(Philox, GivesThePublishedAnswers) {
  constexpr std::uint32_t kAll = 0xffffffff;
  EXPECT_THAT(philox4x32({0, 0, 0, 0}, {0, 0}), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(philox4x32({kAll, kAll, kAll, kAll}, {kAll, kAll}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(RandomStream, KeysPhiloxByElementIndexPurposeAndSeed) {
  const auto block = philox4x32({0x55667788, 0x11223344, 7, 2}, {0xddeeff00, 0x99aabbcc});
  const RandomStream stream(0x99aabbccddeeff00, RandomPurpose::kInitialize, 7);
  EXPECT_EQ(stream.bits(0x1122334455667788), std::uint64_t{block[1]} << 32 | block[0]);
}

TEST(RandomStream, EveryPartOfTheKeyCounts) {
  std::set<std::uint64_t> seen;
  const auto draw = [&seen](std::uint64_t seed, RandomPurpose purpose, std::uint32_t index) {
    const RandomStream stream(seed, purpose, index);
    for (const std::uint64_t element : {0ULL, 1ULL, 1ULL << 32}) seen.insert(stream.bits(element));
  };
  draw(0, RandomPurpose::kShuffle, 0);
  draw(1, RandomPurpose::kShuffle, 0);
  draw(1ULL << 32, RandomPurpose::kShuffle, 0);
  draw(0, RandomPurpose::kInitialize, 0);
  draw(0, RandomPurpose::kShuffle, 1);
  EXPECT_EQ(seen.size(), 15U);
}

RC_GTEST_PROP(RandomStream, StaysWithinItsBounds, ()) {
  const RandomStream stream(*rc::gen::arbitrary<std::uint64_t>(), RandomPurpose::kShuffle, 3);
  const auto element = *rc::gen::arbitrary<std::uint64_t>();
  const auto bound =
      *rc::gen::oneOf(rc::gen::inRange<std::uint64_t>(1, 10),
                      rc::gen::map(rc::gen::arbitrary<std::uint64_t>(), [](std::uint64_t x) { return x | 1; }));
  RC_ASSERT(stream.below(element, bound) < bound);
  RC_ASSERT(stream.below(element, 1) == 0U);
  const double uniform = stream.uniform(element);
  RC_ASSERT(uniform >= 0.0);
  RC_ASSERT(uniform < 1.0);
  RC_ASSERT(std::floor(uniform * 0x1p53) == uniform * 0x1p53);
  RC_ASSERT(stream.uniform(element) == uniform);
}

TEST(RandomStream, BelowFillsItsBinsEvenly) {
  constexpr std::uint64_t kBins = 10;
  constexpr int kDraws = 100'000;
  const RandomStream stream(42, RandomPurpose::kShuffle, 0);
  std::vector<double> bins(kBins);
  for (std::uint64_t i = 0; i < kDraws; ++i) bins[stream.below(i, kBins)] += 1;
  double chi_squared = 0;
  for (const double count : bins) chi_squared += std::pow(count - kDraws / 10.0, 2) / (kDraws / 10.0);
  // 9 degrees of freedom: above 27.9 once in a thousand; the draws are fixed, so the test is too.
  EXPECT_LT(chi_squared, 27.9);
}

TEST(RandomStream, UniformHasTheMomentsOfTheUniformDistribution) {
  constexpr int kDraws = 100'000;
  const RandomStream stream(42, RandomPurpose::kInitialize, 0);
  double sum = 0, squares = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double x = stream.uniform(i);
    sum += x;
    squares += x * x;
  }
  const double mean = sum / kDraws;
  EXPECT_NEAR(mean, 0.5, 0.003);
  EXPECT_NEAR(squares / kDraws - mean * mean, 1.0 / 12, 0.001);
}

}  // namespace
}  // namespace viva
