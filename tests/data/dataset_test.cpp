// Dataset: where samples come from, how one is named, what does not fit.
#include "viva/data/dataset.h"
#include "tests/data/values_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

namespace viva::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Sample i is (10 i, 10 i + 1) -> i.
Dataset numbered(std::int64_t size) {
  std::vector<Sample> samples;
  for (std::int64_t i = 0; i < size; ++i) {
    const auto x = static_cast<double>(10 * i);
    samples.push_back({Tensor::from_values<double>({x, x + 1}), Tensor::from_values<std::int64_t>({i}, {})});
  }
  return Dataset::from_samples(samples);
}

TEST(Dataset, WithoutSamples) {
  EXPECT_EQ(Dataset().size(), 0);
  EXPECT_EQ(Dataset::from_samples({}).size(), 0);
  EXPECT_EQ(Dataset::from_lists({}, {}).size(), 0);
  EXPECT_THROW(Dataset().get(0), IndexOutOfBounds);
  EXPECT_THROW(Dataset().get(-1), IndexOutOfBounds);
}

TEST(Dataset, NullSourceIsAnError) { EXPECT_THROW(Dataset(std::shared_ptr<const SampleSource>()), Error); }

TEST(Dataset, GetCountsFromTheEnd) {
  const Dataset dataset = numbered(3);
  EXPECT_EQ(dataset.size(), 3);
  EXPECT_THAT(values_of<double>(dataset.get(0).input), ElementsAre(0, 1));
  EXPECT_THAT(values_of<double>(dataset.get(2).input), ElementsAre(20, 21));
  EXPECT_THAT(values_of<double>(dataset.get(-1).input), ElementsAre(20, 21));
  EXPECT_THAT(values_of<double>(dataset.get(-3).input), ElementsAre(0, 1));
  EXPECT_EQ(dataset.get(-1).input.shape(), Shape({2}));
  EXPECT_EQ(dataset.get(-1).target.shape(), Shape{});
  EXPECT_EQ(dataset.get(-1).target.item(), 2);
}

TEST(Dataset, IndexOutOfBoundsHasItsFields) {
  const Dataset dataset = numbered(3);
  for (const std::int64_t i : {std::int64_t{3}, std::int64_t{-4}, std::int64_t{1} << 62, -(std::int64_t{1} << 62)}) {
    try {
      dataset.get(i);
      FAIL() << "no error for " << i;
    } catch (const IndexOutOfBounds& error) {
      EXPECT_EQ(error.index, i);
      EXPECT_EQ(error.size, 3);
    }
  }
}

TEST(Dataset, GetIsACopy) {
  const Dataset dataset = numbered(2);
  dataset.get(0).input.mutable_values<double>()[0] = 99;
  EXPECT_THAT(values_of<double>(dataset.get(0).input), ElementsAre(0, 1));
}

TEST(Dataset, FromListsOfDifferentLengths) {
  const Tensor one = Tensor::from_values<float>({1});
  try {
    Dataset::from_lists({one, one}, {one});
    FAIL() << "no error";
  } catch (const ShapeMismatch& error) {
    EXPECT_EQ(error.expected, Shape({2}));
    EXPECT_EQ(error.got, Shape({1}));
  }
  EXPECT_THROW(Dataset::from_lists({}, {one}), ShapeMismatch);
  EXPECT_THROW(Dataset::from_lists({one}, {}), ShapeMismatch);
}

TEST(Dataset, ShapesMustBeUniform) {
  const Tensor one = Tensor::from_values<float>({1}), two = Tensor::from_values<float>({1, 2});
  try {
    Dataset::from_lists({one, one, two}, {one, one, one});
    FAIL() << "no error";
  } catch (const ShapeMismatch& error) {
    EXPECT_EQ(error.expected, Shape({1}));
    EXPECT_EQ(error.got, Shape({2}));
    EXPECT_THAT(error.what(), HasSubstr("input 2"));
  }
  EXPECT_THROW(Dataset::from_samples({{one, one}, {one, two}}), ShapeMismatch);
  // As many elements, another shape.
  EXPECT_THROW(Dataset::from_lists({two, two.reshape({2, 1})}, {one, one}), ShapeMismatch);
}

TEST(Dataset, DtypesMustBeUniform) {
  const Tensor f32 = Tensor::from_values<float>({1}), f64 = Tensor::from_values<double>({1});
  EXPECT_THROW(Dataset::from_lists({f32, f64}, {f32, f32}), DtypeError);
  EXPECT_THROW(Dataset::from_lists({f32, f32}, {f32, f64}), DtypeError);
}

TEST(Dataset, FromTensorsSharesThem) {
  const Tensor inputs = Tensor::from_values<float>({1, 2, 3, 4}, {2, 2}), targets = Tensor::from_values<float>({5, 6});
  const Dataset dataset = Dataset::from_tensors(inputs, targets);
  EXPECT_EQ(dataset.spec().input_shape, Shape({2}));
  EXPECT_EQ(dataset.spec().target_shape, Shape{});
  inputs.mutable_values<float>()[3] = 40;
  EXPECT_THAT(values_of<float>(dataset.get(1).input), ElementsAre(3, 40));
}

TEST(Dataset, FromTensorsChecksLengths) {
  EXPECT_THROW(Dataset::from_tensors(Tensor::zeros({3, 2}), Tensor::zeros({2})), ShapeMismatch);
  EXPECT_THROW(Dataset::from_tensors(Tensor::zeros({}), Tensor::zeros({1})), InvalidShape);
  EXPECT_THROW(Dataset::from_tensors(Tensor::zeros({1}), Tensor::zeros({})), InvalidShape);
}

TEST(Dataset, ScaledInputsMustBecomeFloats) {
  const Tensor bytes = Tensor::zeros({2}, Dtype::kUInt8);
  EXPECT_THROW(Dataset::from_tensors(bytes, bytes, {}, Dtype::kInt32), DtypeError);
  EXPECT_EQ(Dataset::from_tensors(bytes, bytes, {}, Dtype::kFloat64).spec().input_dtype, Dtype::kFloat64);
}

TEST(Dataset, BytesBecomeFloatsWhenGathered) {
  const Tensor bytes = Tensor::from_values<std::uint8_t>({0, 51, 255, 1}, {2, 2});
  const Tensor targets = Tensor::from_values<std::int32_t>({7, 8});
  const Dataset dataset = Dataset::from_tensors(bytes, targets, {1.0 / 255, 0});
  EXPECT_THAT(values_of<float>(dataset.get(0).input), ElementsAre(0.0F, static_cast<float>(51 * (1.0 / 255))));
  EXPECT_THAT(values_of<float>(dataset.get(1).input), ElementsAre(1.0F, static_cast<float>(1.0 / 255)));
  EXPECT_EQ(dataset.get(1).target.values<std::int32_t>()[0], 8);
  const Dataset shifted = Dataset::from_tensors(bytes, targets, {0.5, 51}, Dtype::kFloat64);
  EXPECT_THAT(values_of<double>(shifted.get(0).input), ElementsAre(-25.5, 0));
}

TEST(Dataset, GatherChecksBeforeItWrites) {
  const Dataset dataset = numbered(4);
  const Batch batch = dataset.make_batch(2);
  EXPECT_EQ(batch.inputs.shape(), Shape({2, 2}));
  EXPECT_EQ(batch.targets.shape(), Shape({2}));
  const std::vector<std::int64_t> outside{1, 4}, negative{1, -1}, three{1, 2, 3}, fine{1, 2};
  EXPECT_THROW(dataset.gather(outside, batch), IndexOutOfBounds);
  EXPECT_THROW(dataset.gather(negative, batch), IndexOutOfBounds);
  EXPECT_THROW(dataset.gather(three, batch), ShapeMismatch);
  EXPECT_THROW(dataset.gather(fine, {batch.inputs.reshape({4}), batch.targets}), ShapeMismatch);
  EXPECT_THROW(dataset.gather(fine, {batch.inputs, batch.targets.reshape({2, 1})}), ShapeMismatch);
  EXPECT_THROW(dataset.gather(fine, {Tensor::zeros({2, 2}, Dtype::kFloat32), batch.targets}), DtypeError);
  EXPECT_THROW(dataset.gather(fine, {batch.inputs, Tensor::zeros({2}, Dtype::kInt32)}), DtypeError);
  EXPECT_THAT(values_of<double>(batch.inputs), ElementsAre(0, 0, 0, 0));
  dataset.gather(fine, batch);
  EXPECT_THAT(values_of<double>(batch.inputs), ElementsAre(10, 11, 20, 21));
  EXPECT_THAT(values_of<std::int64_t>(batch.targets), ElementsAre(1, 2));
}

TEST(Dataset, MakeBatchRefusesNegativeSizes) { EXPECT_THROW(numbered(1).make_batch(-1), InvalidShape); }

TEST(Dataset, ZeroSizedSamples) {
  const Dataset dataset = Dataset::from_tensors(Tensor::zeros({3, 0}), Tensor::zeros({3}));
  EXPECT_EQ(dataset.size(), 3);
  EXPECT_EQ(dataset.get(2).input.shape(), Shape({0}));
}

RC_GTEST_PROP(Dataset, GatheringConcurrentlyEqualsGatheringSerially, ()) {
  constexpr std::size_t kThreads = 4;
  const auto rows = *rc::gen::inRange<std::int64_t>(1, 40), columns = *rc::gen::inRange<std::int64_t>(1, 70);
  const auto bytes = *rc::gen::container<std::vector<std::uint8_t>>(static_cast<std::size_t>(rows * columns),
                                                                    rc::gen::arbitrary<std::uint8_t>());
  std::vector<std::int32_t> labels(static_cast<std::size_t>(rows));
  std::iota(labels.begin(), labels.end(), 0);
  const Dataset dataset =
      Dataset::from_tensors(Tensor::from_values(bytes, {rows, columns}), Tensor::from_values(labels), {1.0 / 255, 3});
  const auto indices = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, rows));
  const auto count = static_cast<std::int64_t>(indices.size());
  const Batch serial = dataset.make_batch(count);
  dataset.gather(indices, serial);

  std::vector<Batch> batches;
  for (std::size_t t = 0; t < kThreads; ++t) batches.push_back(dataset.make_batch(count));
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&dataset, &indices, batch = batches[t]] { dataset.gather(indices, batch); });
    }
  }
  for (const Batch& batch : batches) {
    RC_ASSERT(bitwise_equal(batch.inputs, serial.inputs));
    RC_ASSERT(bitwise_equal(batch.targets, serial.targets));
  }
  for (std::int64_t k = 0; k < count; ++k) {
    const Sample sample = dataset.get(indices[static_cast<std::size_t>(k)]);
    RC_ASSERT(bitwise_equal(serial.inputs.row(k), sample.input));
    RC_ASSERT(bitwise_equal(serial.targets.row(k), sample.target));
  }
}

}  // namespace
}  // namespace viva::data
