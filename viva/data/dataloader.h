// DataLoader: which samples stand in which batch of which epoch.
#pragma once

#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "viva/data/dataset.h"

namespace viva::data {

// The order of 0 … size - 1 in `epoch`: fill_shuffled over the counter-based stream (seed, kShuffle, epoch). `order`
// has `size` elements. IndexOutOfBounds for an epoch outside 0 … 2^32 - 1.
void shuffled_order(std::uint64_t seed, std::int64_t epoch, std::span<std::int64_t> order);

struct DataLoaderOptions {
  std::int64_t batch_size = 1;
  bool shuffle = false;
  bool drop_last = false;  // drop the last batch of an epoch where it is short
  std::uint64_t seed = 0;
};

// Immutable and thread-safe; the epoch is an argument, never hidden state.
class DataLoader {
 public:
  // InvalidShape for batch_size <= 0.
  DataLoader(Dataset dataset, DataLoaderOptions options);

  const Dataset& dataset() const { return dataset_; }
  const DataLoaderOptions& options() const { return options_; }

  // Batches in one epoch.
  std::int64_t size() const;
  // Samples in batch b of any epoch. IndexOutOfBounds outside 0 … size() - 1.
  std::int64_t batch_length(std::int64_t b) const;
  // The samples' order in `epoch`; `order` has dataset().size() elements, or it is a ShapeMismatch.
  void epoch_order(std::int64_t epoch, std::span<std::int64_t> order) const;
  // Of an epoch's order, the samples of batch b.
  std::span<const std::int64_t> batch_indices(std::span<const std::int64_t> order, std::int64_t b) const;

  class Epoch;
  // One epoch's batches, lazily: `for (const Batch& batch : loader.batches(epoch))`.
  Epoch batches(std::int64_t epoch = 0) const;

 private:
  Dataset dataset_;
  DataLoaderOptions options_;
};

class DataLoader::Epoch {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    using pointer = const Batch*;
    using reference = Batch;

    Iterator(const Epoch* epoch, std::int64_t batch) : epoch_(epoch), batch_(batch) {}
    Batch operator*() const { return epoch_->batch(batch_); }
    Iterator& operator++() {
      ++batch_;
      return *this;
    }
    void operator++(int) { ++batch_; }
    bool operator==(const Iterator& other) const { return batch_ == other.batch_; }

   private:
    const Epoch* epoch_;
    std::int64_t batch_;
  };

  Epoch(DataLoader loader, std::int64_t epoch);
  std::int64_t size() const { return loader_.size(); }
  // Batch b, gathered now. IndexOutOfBounds outside 0 … size() - 1.
  Batch batch(std::int64_t b) const;
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

 private:
  DataLoader loader_;
  std::vector<std::int64_t> order_;
};

}  // namespace viva::data
