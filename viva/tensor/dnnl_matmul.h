// The float32 matrix product on oneDNN; see matmul.h.
#pragma once

#include "viva/tensor/matmul.h"

namespace viva {

// No axis may be zero. Call within a KernelScope.
void dnnl_matmul(const MatmulShape& shape, const float* a, const float* b, const float* bias, float* out, Arena& arena);

}  // namespace viva
