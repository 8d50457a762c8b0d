// The one shuffle that every random order of samples comes from.
#pragma once

#include <cstdint>
#include <span>

#include "viva/tensor/random.h"

namespace viva::data {

// Fills `order` with 0 … size - 1, in the order of a Fisher-Yates shuffle over `random`. A pure function, the same on
// every standard library; allocates nothing.
void fill_shuffled(const RandomStream& random, std::span<std::int64_t> order);

}  // namespace viva::data
