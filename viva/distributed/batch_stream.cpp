#include "viva/distributed/batch_stream.h"

#include <utility>

namespace viva::distributed {

BatchStream::BatchStream(data::DataLoader loader, std::int64_t window) : loader_(std::move(loader)) {
  if (loader_.size() == 0) return;
  // A window that begins with the last batch of one epoch reaches furthest.
  orders_.resize(static_cast<std::size_t>((window - 1 + loader_.size() - 1) / loader_.size() + 1));
  for (EpochOrder& o : orders_) o.order.resize(static_cast<std::size_t>(loader_.dataset().size()));
}

void BatchStream::prepare(std::int64_t begin, std::int64_t end) {
  if (begin >= end) return;
  for (std::int64_t epoch = begin / loader_.size(); epoch <= (end - 1) / loader_.size(); ++epoch) {
    EpochOrder& o = orders_[static_cast<std::size_t>(epoch) % orders_.size()];
    if (o.epoch == epoch) continue;
    loader_.epoch_order(epoch, o.order);
    o.epoch = epoch;
  }
}

std::span<const std::int64_t> BatchStream::indices(std::int64_t batch) const {
  const EpochOrder& o = orders_[static_cast<std::size_t>(batch / loader_.size()) % orders_.size()];
  return loader_.batch_indices(o.order, batch % loader_.size());
}

}  // namespace viva::distributed
