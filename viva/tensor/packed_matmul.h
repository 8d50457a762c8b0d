// The float32 matrix product for processors where oneDNN's kernels leave much of the time unused; see matmul.h.
//
// After Goto, van de Geijn, "Anatomy of high-performance matrix multiplication", 2008. One operand is packed by panels
// of two vectors of columns, in the second cache, the other one is read as it is, a few rows at a time, in the first.
#pragma once

#include "viva/tensor/matmul.h"

namespace viva {

// A result is summed by blocks of nearly even depth, at most kDepthBlock, which are added in their order: a long sum
// rounds less so. No axis may be zero. Call within a KernelScope.
void packed_matmul(const MatmulShape& shape, const float* a, const float* b, const float* bias, float* out,
                   Arena& arena);

}  // namespace viva
