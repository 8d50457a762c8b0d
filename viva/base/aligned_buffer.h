// A block of zeroed bytes on a 64-byte boundary: what every flat buffer and tensor stands on.
#pragma once

#include <cstddef>
#include <memory>

namespace viva {

// A cache line and the widest vector that viva uses.
inline constexpr std::size_t kAlignment = 64;

constexpr std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

using SharedBytes = std::shared_ptr<std::byte>;

// At least `size` zeroed bytes, freed with the last copy of the pointer. The block's capacity is rounded up to a whole
// number of cache lines, so a vector loop may read to the end of the last one. Throws std::bad_alloc.
SharedBytes make_aligned_bytes(std::size_t size);

}  // namespace viva
