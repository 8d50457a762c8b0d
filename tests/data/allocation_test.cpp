// Memory: gathering allocates nothing, and memory that is refused is an IoError.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "tests/allocation_counter.h"
#include "viva/data/dataloader.h"
#include "viva/data/file_bytes.h"
#include "viva/data/text.h"

namespace viva::data {
namespace {

TEST(Allocation, AnEpochOfGatheringAllocatesNothing) {
  const Tensor images = Tensor::zeros({100, 8, 8}, Dtype::kUInt8), labels = Tensor::zeros({100}, Dtype::kInt32);
  std::vector<std::int64_t> reversed(100);
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  for (const Dataset& dataset :
       {Dataset::from_tensors(images, labels), Dataset::from_tensors(images, labels, {1.0 / 255, 0.0}),
        Dataset::from_tensors(images, labels).subset(reversed),
        window_dataset(Tensor::zeros({105}, Dtype::kUInt8), {.context = 5})}) {
    const DataLoader loader(dataset, {.batch_size = 10, .shuffle = true, .seed = 1});
    const Batch batch = dataset.make_batch(10);
    std::vector<std::int64_t> order(100);

    const std::int64_t before = test::allocations().viva;
    loader.epoch_order(3, order);
    for (std::int64_t b = 0; b < loader.size(); ++b) dataset.gather(loader.batch_indices(order, b), batch);
    EXPECT_EQ(test::allocations().viva, before);
  }
  const std::int64_t before = test::allocations().viva;
  Tensor::zeros({1});
  EXPECT_GT(test::allocations().viva, before) << "the counter counts";
}

TEST(Allocation, RefusedMemoryIsAnIoError) {
  try {
    allocate_for_file("huge.gz", test::kRefusedBytes);
    FAIL() << "no error";
  } catch (const IoError& error) {
    EXPECT_EQ(error.path, "huge.gz");
    EXPECT_THAT(error.what(), testing::HasSubstr("1099511627776 bytes of memory"));
  }
}

}  // namespace
}  // namespace viva::data
