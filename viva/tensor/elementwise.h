// Element-wise loops over flat buffers, vectorised. tests/tensor/elementwise_test.cpp checks each against a plain loop.
//
// Every pointer is on a 64-byte boundary and every buffer reaches to the end of its last cache line, as flat buffers
// and arena pieces do: the loops run over whole cache lines, so that body and tail are one form. Products and sums are
// rounded separately, never fused. T is float or double.
#pragma once

#include <cstddef>
#include <type_traits>

namespace viva {

// An operand with its factor: factor * values[i], rounded. A factor of 1 changes no bit.
template <typename T>
struct Weighted {
  const T* values = nullptr;
  T weight = 1;
};

// out[i] = a.weight * a[i] + b.weight * b[i]. `out` may be one of the operands.
template <typename T>
void weighted_add(T* out, Weighted<std::type_identity_t<T>> a, Weighted<std::type_identity_t<T>> b, std::size_t count);

// grad[i] = 0 where output[i], a ReLU's result, is not positive.
template <typename T>
void relu_backward(T* grad, const T* output, std::size_t count);

}  // namespace viva
