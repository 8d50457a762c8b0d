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

  // Takes back, at its end, the pieces handed out since its beginning: for scratch memory within one operation, which
  // the next operation then finds in the cache. Innermost first.
  class Scope {
   public:
    explicit Scope(Arena& arena) : arena_(arena), block_(arena.block_), offset_(arena.offset_) {}
    ~Scope() {
      arena_.block_ = block_;
      arena_.offset_ = offset_;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Arena& arena_;
    std::size_t block_, offset_;
  };

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
