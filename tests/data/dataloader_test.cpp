// DataLoader: batches of an epoch, their order as a pure function of (seed, epoch).
#include "viva/data/dataloader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

namespace viva::data {
namespace {

using ::testing::ElementsAre;

static_assert(std::input_iterator<DataLoader::Epoch::Iterator>);

// Sample i is the number i twice; counts what is gathered.
class CountingSource : public SampleSource {
 public:
  explicit CountingSource(std::int64_t size) : size_(size) {}
  std::int64_t size() const override { return size_; }
  SampleSpec spec() const override { return {{}, Dtype::kInt64, {}, Dtype::kInt64}; }
  void gather(std::span<const std::int64_t> indices, const Batch& out) const override {
    std::copy(indices.begin(), indices.end(), out.inputs.mutable_values<std::int64_t>().begin());
    std::copy(indices.begin(), indices.end(), out.targets.mutable_values<std::int64_t>().begin());
    gathered += static_cast<std::int64_t>(indices.size());
  }
  mutable std::int64_t gathered = 0;

 private:
  std::int64_t size_;
};

DataLoader loader_of(std::int64_t samples, DataLoaderOptions options) {
  return {Dataset(std::make_shared<CountingSource>(samples)), options};
}

std::vector<std::vector<std::int64_t>> batches_of(const DataLoader& loader, std::int64_t epoch = 0) {
  std::vector<std::vector<std::int64_t>> batches;
  for (const Batch& batch : loader.batches(epoch)) {
    const auto inputs = batch.inputs.values<std::int64_t>();
    EXPECT_TRUE(bitwise_equal(batch.inputs, batch.targets));
    EXPECT_EQ(batch.size(), static_cast<std::int64_t>(inputs.size()));
    batches.emplace_back(inputs.begin(), inputs.end());
  }
  return batches;
}

std::vector<std::int64_t> order_of(std::uint64_t seed, std::int64_t epoch, std::size_t size) {
  std::vector<std::int64_t> order(size);
  shuffled_order(seed, epoch, order);
  return order;
}

TEST(DataLoader, BatchSizeMustBePositive) {
  EXPECT_THROW(loader_of(3, {.batch_size = 0}), InvalidShape);
  EXPECT_THROW(loader_of(3, {.batch_size = -1}), InvalidShape);
  EXPECT_THROW(loader_of(0, {.batch_size = std::numeric_limits<std::int64_t>::min()}), InvalidShape);
}

TEST(DataLoader, TheLastBatchMayBeShort) {
  const DataLoader loader = loader_of(5, {.batch_size = 2});
  EXPECT_EQ(loader.size(), 3);
  EXPECT_EQ(loader.batch_length(1), 2);
  EXPECT_EQ(loader.batch_length(2), 1);
  EXPECT_THAT(batches_of(loader), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4)));
}

TEST(DataLoader, DropLastDropsAShortBatchOnly) {
  EXPECT_THAT(batches_of(loader_of(5, {.batch_size = 2, .drop_last = true})),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_EQ(loader_of(4, {.batch_size = 2, .drop_last = true}).size(), 2);
  EXPECT_EQ(loader_of(1, {.batch_size = 2, .drop_last = true}).size(), 0);
}

TEST(DataLoader, BatchLargerThanTheDataset) {
  const DataLoader loader = loader_of(3, {.batch_size = std::numeric_limits<std::int64_t>::max()});
  EXPECT_THAT(batches_of(loader), ElementsAre(ElementsAre(0, 1, 2)));
}

TEST(DataLoader, EmptyDatasetHasNoBatches) {
  for (const bool drop_last : {false, true}) {
    const DataLoader loader{Dataset(), {.batch_size = 4, .shuffle = true, .drop_last = drop_last}};
    EXPECT_EQ(loader.size(), 0);
    EXPECT_TRUE(batches_of(loader).empty());
    EXPECT_THROW(loader.batches().batch(0), IndexOutOfBounds);
  }
}

TEST(DataLoader, BatchesStackAlongANewAxis) {
  const Dataset dataset = Dataset::from_tensors(Tensor::zeros({5, 2, 3}), Tensor::zeros({5}, Dtype::kInt32));
  const Batch batch = *DataLoader(dataset, {.batch_size = 4}).batches().begin();
  EXPECT_EQ(batch.inputs.shape(), Shape({4, 2, 3}));
  EXPECT_EQ(batch.targets.shape(), Shape({4}));
  EXPECT_EQ(batch.targets.dtype(), Dtype::kInt32);
}

TEST(DataLoader, BatchesAreGatheredLazily) {
  const auto source = std::make_shared<CountingSource>(10);
  const DataLoader loader(Dataset(source), {.batch_size = 3});
  const auto epoch = loader.batches();
  EXPECT_EQ(epoch.size(), 4);
  EXPECT_EQ(source->gathered, 0);
  auto batch = epoch.begin();
  EXPECT_EQ((*batch).size(), 3);
  EXPECT_EQ(source->gathered, 3);
  ++batch;
  EXPECT_EQ(source->gathered, 3);
}

TEST(DataLoader, BatchOutsideTheEpoch) {
  const DataLoader loader = loader_of(5, {.batch_size = 2});
  EXPECT_THROW(loader.batch_length(-1), IndexOutOfBounds);
  EXPECT_THROW(loader.batch_length(3), IndexOutOfBounds);
  try {
    loader.batches().batch(3);
    FAIL() << "no error";
  } catch (const IndexOutOfBounds& error) {
    EXPECT_EQ(error.index, 3);
    EXPECT_EQ(error.size, 3);
  }
}

TEST(DataLoader, OrderMustHaveTheDatasetsLength) {
  const DataLoader loader = loader_of(5, {.batch_size = 2});
  std::vector<std::int64_t> four(4);
  EXPECT_THROW(loader.epoch_order(0, four), ShapeMismatch);
  EXPECT_THROW(loader.batch_indices(four, 0), ShapeMismatch);
}

TEST(DataLoader, TheEpochIsAnArgument) {
  const DataLoader loader = loader_of(50, {.batch_size = 7, .shuffle = true, .seed = 3});
  const auto epoch1 = batches_of(loader, 1);
  EXPECT_EQ(batches_of(loader), batches_of(loader, 0));
  EXPECT_NE(batches_of(loader, 0), epoch1);
  EXPECT_EQ(batches_of(loader, 1), epoch1);
}

// A change of these numbers changes the bits of every shuffled run: it belongs into the CHANGELOG.
TEST(ShuffledOrder, KnownValues) {
  EXPECT_THAT(order_of(1, 0, 10), ElementsAre(5, 8, 1, 6, 0, 9, 4, 7, 2, 3));
  EXPECT_THAT(order_of(1, 1, 10), ElementsAre(6, 9, 2, 0, 3, 1, 7, 8, 5, 4));
  EXPECT_THAT(order_of(0x123456789ABCDEF0, 7, 10), ElementsAre(9, 2, 6, 3, 1, 5, 7, 0, 4, 8));
}

TEST(ShuffledOrder, EpochsBeyondTheCounterAreRefused) {
  std::vector<std::int64_t> order(3);
  EXPECT_THROW(shuffled_order(1, -1, order), IndexOutOfBounds);
  EXPECT_THROW(shuffled_order(1, std::int64_t{1} << 32, order), IndexOutOfBounds);
  EXPECT_NO_THROW(shuffled_order(1, (std::int64_t{1} << 32) - 1, order));
}

// Each of the 24 orders of 4 samples 1000 times in 24000 epochs: chi-squared with 23 degrees of freedom is below 50
// with a probability of 0.999.
TEST(ShuffledOrder, EveryPermutationIsEquallyLikely) {
  std::vector<std::vector<std::int64_t>> orders;
  for (std::int64_t epoch = 0; epoch < 24000; ++epoch) orders.push_back(order_of(5, epoch, 4));
  std::vector<std::int64_t> permutation{0, 1, 2, 3};
  double chi_squared = 0;
  do {
    const auto seen = static_cast<double>(std::count(orders.begin(), orders.end(), permutation));
    chi_squared += (seen - 1000) * (seen - 1000) / 1000;
  } while (std::next_permutation(permutation.begin(), permutation.end()));
  EXPECT_LT(chi_squared, 50);
}

RC_GTEST_PROP(ShuffledOrder, IsAPermutationAndPure, (std::uint64_t seed, std::uint32_t epoch)) {
  const auto size = *rc::gen::inRange<std::size_t>(0, 200);
  const auto order = order_of(seed, epoch, size);
  RC_ASSERT(order_of(seed, epoch, size) == order);
  auto sorted = order;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::int64_t> all(size);
  std::iota(all.begin(), all.end(), 0);
  RC_ASSERT(sorted == all);
}

RC_GTEST_PROP(ShuffledOrder, SeedsAndEpochsDiffer, (std::uint64_t seed, std::uint16_t epoch)) {
  constexpr std::size_t kSize = 60;  // two equal orders by chance: once in 10^81
  RC_ASSERT(order_of(seed, epoch, kSize) != order_of(seed, epoch + 1, kSize));
  RC_ASSERT(order_of(seed, epoch, kSize) != order_of(seed + 1, epoch, kSize));
  RC_ASSERT(order_of(seed, epoch, kSize) != order_of(seed ^ std::uint64_t{1} << 63, epoch, kSize));
}

RC_GTEST_PROP(DataLoader, EverySampleOnceInAnEpoch,
              (std::uint64_t seed, std::uint16_t epoch, bool shuffle, bool drop_last)) {
  const auto samples = *rc::gen::inRange<std::int64_t>(0, 60);
  const auto batch_size = *rc::gen::inRange<std::int64_t>(1, 20);
  const DataLoader loader =
      loader_of(samples, {.batch_size = batch_size, .shuffle = shuffle, .drop_last = drop_last, .seed = seed});
  const auto batches = batches_of(loader, epoch);
  RC_ASSERT(static_cast<std::int64_t>(batches.size()) == loader.size());

  std::vector<std::int64_t> seen;
  for (std::size_t b = 0; b < batches.size(); ++b) {
    const auto length = static_cast<std::int64_t>(batches[b].size());
    RC_ASSERT(length == loader.batch_length(static_cast<std::int64_t>(b)));
    RC_ASSERT(length == batch_size || (b + 1 == batches.size() && !drop_last && length == samples % batch_size));
    seen.insert(seen.end(), batches[b].begin(), batches[b].end());
  }
  RC_ASSERT(static_cast<std::int64_t>(seen.size()) == (drop_last ? samples - samples % batch_size : samples));
  std::sort(seen.begin(), seen.end());
  RC_ASSERT(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
  for (const std::int64_t sample : seen) RC_ASSERT(0 <= sample && sample < samples);
}

}  // namespace
}  // namespace viva::data
