// BatchStream: the endless stream of epochs with random access, for executors that gather their own batches.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "viva/data/dataloader.h"

namespace viva::distributed {

class BatchStream {
 public:
  // `window`: the most consecutive batches that are read between two calls of prepare().
  BatchStream(data::DataLoader loader, std::int64_t window);

  // Makes batches [begin, end) readable. Allocates nothing after construction. Nobody reads meanwhile.
  void prepare(std::int64_t begin, std::int64_t end);
  // The samples of a batch that is prepared; thread-safe.
  std::span<const std::int64_t> indices(std::int64_t batch) const;
  std::int64_t length(std::int64_t batch) const { return loader_.batch_length(batch % loader_.size()); }

  const data::DataLoader& loader() const { return loader_; }

 private:
  struct EpochOrder {
    std::int64_t epoch = -1;
    std::vector<std::int64_t> order;
  };
  data::DataLoader loader_;
  std::vector<EpochOrder> orders_;  // epoch e lies in place e mod orders_.size()
};

}  // namespace viva::distributed
