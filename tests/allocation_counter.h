// Counts the C++ allocations of a test program, viva's own and oneDNN's apart. Link tests/allocation_counter.cpp.
#pragma once

#include <cstdint>

namespace viva::test {

struct Allocations {
  std::int64_t viva = 0;    // by everything but oneDNN
  std::int64_t onednn = 0;  // by oneDNN
  std::int64_t live_viva_bytes = 0;
};

// Since the program began.
Allocations allocations();

}  // namespace viva::test
