#include "viva/tensor/arena.h"

#include <algorithm>

namespace viva {

namespace {
constexpr std::size_t kFirstBlock = 1 << 20;
constexpr std::size_t kSmallestFurtherBlock = 8 << 20;  // of huge pages
}  // namespace

void Arena::reset() {
  block_ = 0;
  offset_ = 0;
}

std::byte* Arena::allocate_bytes(std::size_t size) {
  size = round_up(size, kAlignment);
  while (block_ < blocks_.size() && offset_ + size > blocks_[block_].size) {
    ++block_;
    offset_ = 0;
  }
  if (block_ == blocks_.size()) {
    const std::size_t block_size = std::max(size, blocks_.empty() ? kFirstBlock : kSmallestFurtherBlock);
    blocks_.push_back({make_aligned_bytes(block_size), block_size});
  }
  std::byte* piece = blocks_[block_].bytes.get() + offset_;
  offset_ += size;
  return piece;
}

}  // namespace viva
