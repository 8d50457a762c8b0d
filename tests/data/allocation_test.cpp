// Memory: gathering allocates nothing, and memory that is refused is an IoError. Counted and refused by operator new,
// which this program replaces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "viva/data/dataloader.h"
#include "viva/data/file_bytes.h"

namespace {

// A sanitizer's allocator would end the program at such a size.
constexpr std::size_t kRefused = std::size_t{1} << 40;

thread_local std::int64_t allocations = 0;

void* allocate(std::size_t size, std::size_t alignment) {
  ++allocations;
  if (size >= kRefused) throw std::bad_alloc();
  void* memory = std::aligned_alloc(alignment, (size / alignment + 1) * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace viva::data {
namespace {

TEST(Allocation, AnEpochOfGatheringAllocatesNothing) {
  const Tensor images = Tensor::zeros({100, 8, 8}, Dtype::kUInt8), labels = Tensor::zeros({100}, Dtype::kInt32);
  for (const Dataset& dataset :
       {Dataset::from_tensors(images, labels), Dataset::from_tensors(images, labels, {1.0 / 255, 0.0})}) {
    const DataLoader loader(dataset, {.batch_size = 10, .shuffle = true, .seed = 1});
    const Batch batch = dataset.make_batch(10);
    std::vector<std::int64_t> order(100);

    const std::int64_t before = allocations;
    loader.epoch_order(3, order);
    for (std::int64_t b = 0; b < loader.size(); ++b) dataset.gather(loader.batch_indices(order, b), batch);
    EXPECT_EQ(allocations, before);
  }
  const std::int64_t before = allocations;
  Tensor::zeros({1});
  EXPECT_GT(allocations, before) << "the counter counts";
}

TEST(Allocation, RefusedMemoryIsAnIoError) {
  try {
    allocate_for_file("huge.gz", kRefused);
    FAIL() << "no error";
  } catch (const IoError& error) {
    EXPECT_EQ(error.path, "huge.gz");
    EXPECT_THAT(error.what(), testing::HasSubstr("1099511627776 bytes of memory"));
  }
}

}  // namespace
}  // namespace viva::data
