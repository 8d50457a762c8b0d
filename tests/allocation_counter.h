// Counts the C++ allocations of a test program, viva's own and oneDNN's apart. Link tests/allocation_counter.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace viva::test {

// Refused with std::bad_alloc, as is more: a sanitizer's allocator would end the program.
inline constexpr std::size_t kRefusedBytes = std::size_t{1} << 40;

struct Allocations {
  std::int64_t viva = 0;    // by everything but oneDNN
  std::int64_t onednn = 0;  // by oneDNN
  std::int64_t live_viva_bytes = 0;
};

// Since the program began.
Allocations allocations();

}  // namespace viva::test
