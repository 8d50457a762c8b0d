// Stored numbers become floats: the one loop that scales, for every pair of types.
#pragma once

#include <span>

#include "viva/data/dataset.h"

namespace viva::data {

// out[i] = (in[i] - shift) * scale, each operation in double, rounded once to `out_dtype` (float32 or float64). Both
// spans hold equally many elements, without a demand on alignment. An element depends on nothing but itself, so that
// neither its place nor the processor's vectors change a bit. Called inside a KernelScope.
void scale_elements(Dtype in_dtype, std::span<const std::byte> in, Dtype out_dtype, std::span<std::byte> out,
                    const Scaling& scaling);

}  // namespace viva::data
