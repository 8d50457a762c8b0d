// Scratch memory that is handed out piece by piece and taken back all at once.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "viva/base/aligned_buffer.h"

namespace viva {

// Pieces begin on 64-byte boundaries and live until reset(). The memory itself is kept, so that a step which needs no
// more than an earlier one allocates nothing. Not thread-safe: an executor has its own.
class Arena {
 public:
  Arena() = default;
  Arena(Arena&&) = default;
  Arena& operator=(Arena&&) = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // `count` elements with unspecified content.
  template <typename T>
  std::span<T> allocate(std::size_t count) {
    return {reinterpret_cast<T*>(allocate_bytes(count * sizeof(T))), count};
  }

  // Takes every piece back.
  void reset();

 private:
  std::byte* allocate_bytes(std::size_t size);

  struct Block {
    SharedBytes bytes;
    std::size_t size;
  };
  std::vector<Block> blocks_;
  std::size_t block_ = 0;   // the block being handed out
  std::size_t offset_ = 0;  // within it
};

}  // namespace viva
