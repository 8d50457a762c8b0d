#include "viva/data/dataloader.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "viva/data/shuffle.h"

namespace viva::data {
namespace {

void expect_length(std::span<const std::int64_t> order, std::int64_t size) {
  const auto length = static_cast<std::int64_t>(order.size());
  if (length != size) throw ShapeMismatch("DataLoader: length of an epoch's order", {size}, {length});
}

}  // namespace

void shuffled_order(std::uint64_t seed, std::int64_t epoch, std::span<std::int64_t> order) {
  constexpr std::int64_t kEpochs = std::int64_t{1} << 32;
  if (epoch < 0 || epoch >= kEpochs) throw IndexOutOfBounds("epoch of a shuffle", epoch, kEpochs);
  fill_shuffled(RandomStream(seed, RandomPurpose::kShuffle, static_cast<std::uint32_t>(epoch)), order);
}

DataLoader::DataLoader(Dataset dataset, DataLoaderOptions options) : dataset_(std::move(dataset)), options_(options) {
  if (options.batch_size <= 0) {
    throw InvalidShape(fmt::format("DataLoader: batch_size is {}; it must be at least 1", options.batch_size));
  }
}

std::int64_t DataLoader::size() const {
  const std::int64_t whole = dataset_.size() / options_.batch_size;
  const bool short_one = dataset_.size() % options_.batch_size != 0;
  return short_one && !options_.drop_last ? whole + 1 : whole;
}

std::int64_t DataLoader::batch_length(std::int64_t b) const {
  if (b < 0 || b >= size()) throw IndexOutOfBounds("DataLoader: batch of an epoch", b, size());
  return std::min(options_.batch_size, dataset_.size() - b * options_.batch_size);
}

void DataLoader::epoch_order(std::int64_t epoch, std::span<std::int64_t> order) const {
  expect_length(order, dataset_.size());
  if (options_.shuffle) {
    shuffled_order(options_.seed, epoch, order);
  } else {
    std::iota(order.begin(), order.end(), std::int64_t{0});
  }
}

std::span<const std::int64_t> DataLoader::batch_indices(std::span<const std::int64_t> order, std::int64_t b) const {
  expect_length(order, dataset_.size());
  const std::int64_t length = batch_length(b);
  return order.subspan(static_cast<std::size_t>(b * options_.batch_size), static_cast<std::size_t>(length));
}

DataLoader::Epoch DataLoader::batches(std::int64_t epoch) const { return {*this, epoch}; }

DataLoader::Epoch::Epoch(DataLoader loader, std::int64_t epoch)
    : loader_(std::move(loader)), order_(static_cast<std::size_t>(loader_.dataset().size())) {
  loader_.epoch_order(epoch, order_);
}

Batch DataLoader::Epoch::batch(std::int64_t b) const {
  const auto indices = loader_.batch_indices(order_, b);
  Batch batch = loader_.dataset().make_batch(static_cast<std::int64_t>(indices.size()));
  loader_.dataset().gather(indices, batch);
  return batch;
}

}  // namespace viva::data
