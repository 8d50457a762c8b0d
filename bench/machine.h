// What the machine itself can do: the limits that viva's figures stand beside.
#pragma once

#include <cstdint>
#include <vector>

#include "viva/tensor/tensor.h"

namespace viva::bench {

// float32 GFLOP/s of fused multiply-adds in registers, over all threads.
double fma_peak(int threads);

// Nanoseconds for a cache line to go from the first CPU to the second and back; 0 where there is only one.
double ping_pong_ns();

// GB/s of x += a·y in place over two buffers of floats, reads and writes counted: 12 bytes an element.
class Bandwidth {
 public:
  Bandwidth(std::int64_t elements, int passes);
  double measure(int threads) const;

 private:
  Tensor x_, y_;
  int passes_;
};

}  // namespace viva::bench
