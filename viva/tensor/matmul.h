// Matrix products: float32 through oneDNN, float64 through Eigen, each on the calling thread alone.
#pragma once

#include <cstdint>
#include <type_traits>

#include "viva/tensor/arena.h"
#include "viva/tensor/precision.h"
#include "viva/tensor/tensor.h"

namespace viva {

// out = a · b, (m, n) = (m, k) · (k, n), all row-major. With transpose_a, a is stored as (k, m); with transpose_b, b is
// stored as (n, k). With `bias` (n) is added to each row; with `relu` negative results become zero.
struct MatmulShape {
  std::int64_t m = 0, k = 0, n = 0;
  bool transpose_a = false, transpose_b = false;
  bool bias = false, relu = false;
  Precision precision = Precision::kF32;  // of float32's products
  bool operator==(const MatmulShape&) const = default;
};

// `bias` is null where the shape has none. Memory on 64-byte boundaries is quickest. Takes scratch memory from `arena`
// and keeps the kernels of recently used shapes per thread, so a repeated product allocates nothing of viva's. T is
// float or double.
template <typename T>
void matmul(const MatmulShape& shape, const T* a, const T* b, const std::type_identity_t<T>* bias,
            std::type_identity_t<T>* out, Arena& arena);

struct MatmulFlags {
  bool transpose_a = false, transpose_b = false;
};

// The product of two matrices as a new tensor. ShapeMismatch, DtypeError.
Tensor matmul(const Tensor& a, const Tensor& b, MatmulFlags flags = {});

}  // namespace viva
