// Subsets and splits: views that share their samples, the same on every machine.
#include "viva/data/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace viva::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Sample i is (i, -i) -> i.
Dataset numbered_pairs(std::int64_t size) {
  std::vector<std::int32_t> inputs, targets;
  for (std::int32_t i = 0; i < size; ++i) {
    inputs.insert(inputs.end(), {i, -i});
    targets.push_back(i);
  }
  return Dataset::from_tensors(Tensor::from_values(inputs, {size, 2}), Tensor::from_values(targets));
}

std::vector<std::int32_t> numbers_of(const Dataset& dataset) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(dataset.size()));
  std::iota(all.begin(), all.end(), 0);
  const Batch batch = dataset.make_batch(dataset.size());
  dataset.gather(all, batch);
  const auto targets = batch.targets.values<std::int32_t>();
  for (std::size_t k = 0; k < all.size(); ++k) {
    EXPECT_EQ(batch.inputs.values<std::int32_t>()[2 * k + 1], -targets[k]);
  }
  return {targets.begin(), targets.end()};
}

std::string error_of(std::int64_t size, double fraction) {
  try {
    split(numbered_pairs(size), fraction);
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.key, "validation_fraction");
    return error.what();
  }
  return "no error";
}

TEST(Subset, AnyOrderAndRepeats) {
  const Dataset subset = numbered_pairs(5).subset({4, 0, 4});
  EXPECT_EQ(subset.size(), 3);
  EXPECT_THAT(numbers_of(subset), ElementsAre(4, 0, 4));
  EXPECT_EQ(subset.get(-2).target.item(), 0);
  EXPECT_THROW(subset.get(3), IndexOutOfBounds);
  EXPECT_THAT(numbers_of(subset.subset({1, 2})), ElementsAre(0, 4));
  EXPECT_EQ(numbered_pairs(5).subset({}).size(), 0);
}

TEST(Subset, IndexOutOfBoundsHasItsFields) {
  for (const std::int64_t index : {std::int64_t{5}, std::int64_t{-1}}) {
    try {
      numbered_pairs(5).subset({0, index});
      FAIL() << "no error";
    } catch (const IndexOutOfBounds& error) {
      EXPECT_EQ(error.index, index);
      EXPECT_EQ(error.size, 5);
    }
  }
}

TEST(Subset, SharesTheSamples) {
  const Tensor inputs = Tensor::from_values<std::uint8_t>({0, 51, 255});
  const Dataset subset = Dataset::from_tensors(inputs, inputs, {1.0 / 255, 0}).subset({2});
  EXPECT_EQ(subset.spec().input_dtype, Dtype::kFloat32);
  EXPECT_EQ(subset.get(0).input.item(), 1);
  inputs.mutable_values<std::uint8_t>()[2] = 0;
  EXPECT_EQ(subset.get(0).input.item(), 0);
}

// More samples than are gathered at once.
TEST(Subset, LargeBatches) {
  std::vector<std::int64_t> indices(1000);
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<std::int64_t>(i * 7 % 1000);
  const std::vector<std::int32_t> numbers = numbers_of(numbered_pairs(1000).subset(indices));
  EXPECT_TRUE(std::equal(numbers.begin(), numbers.end(), indices.begin(), indices.end()));
}

TEST(Split, ValidationIsTheLastPart) {
  const auto [train, validation] = split(numbered_pairs(5), 0.4);
  EXPECT_THAT(numbers_of(train), ElementsAre(0, 1, 2));
  EXPECT_THAT(numbers_of(validation), ElementsAre(3, 4));
}

TEST(Split, RoundsToTheNearest) {
  EXPECT_EQ(validation_count(10, 0.25), 3);
  EXPECT_EQ(validation_count(10, 0.24), 2);
  EXPECT_EQ(validation_count(60000, 1.0 / 6), 10000);
}

TEST(Split, ShuffledBySeed) {
  // Pinned: a split that changes moves samples from validation to training.
  const auto [train, validation] = split(numbered_pairs(8), 0.25, {.shuffle = true, .seed = 1});
  EXPECT_THAT(numbers_of(train), ElementsAre(4, 5, 6, 2, 0, 7));
  EXPECT_THAT(numbers_of(validation), ElementsAre(1, 3));
  EXPECT_NE(numbers_of(split(numbered_pairs(8), 0.25, {.shuffle = true, .seed = 2}).train), numbers_of(train));
}

RC_GTEST_PROP(Split, EverySampleIsInOnePart, (std::uint64_t seed, bool shuffle)) {
  const auto size = *rc::gen::inRange<std::int64_t>(2, 600);
  const auto [train, validation] = split(numbered_pairs(size), 0.5, {.shuffle = shuffle, .seed = seed});
  std::vector<std::int32_t> numbers = numbers_of(train), expected(static_cast<std::size_t>(size));
  const std::vector<std::int32_t> rest = numbers_of(validation);
  numbers.insert(numbers.end(), rest.begin(), rest.end());
  std::iota(expected.begin(), expected.end(), 0);
  if (shuffle) std::sort(numbers.begin(), numbers.end());
  RC_ASSERT(numbers == expected);
}

TEST(Split, FractionsThatCannotBe) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double fraction : {0.0, 1.0, -0.1, 1.5, nan, HUGE_VAL}) {
    EXPECT_THAT(error_of(10, fraction), HasSubstr("expected a number between 0 and 1, found")) << fraction;
  }
  EXPECT_THAT(error_of(10, 0.04), HasSubstr("0.04 of 10 leaves nothing for validation"));
  EXPECT_THAT(error_of(10, 0.96), HasSubstr("0.96 of 10 leaves nothing for training"));
  EXPECT_THAT(error_of(0, 0.5), HasSubstr("nothing for validation"));
  EXPECT_THAT(error_of(1, 0.5), HasSubstr("nothing for training"));
}

}  // namespace
}  // namespace viva::data
