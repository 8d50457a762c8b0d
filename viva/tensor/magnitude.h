// Loops that look at how large elements are, vectorised. tests/tensor/magnitude_test.cpp checks each against a plain
// loop.
//
// Every pointer is on a 64-byte boundary and every buffer reaches to the end of its last cache line, where it holds
// zeros: the loops run over whole cache lines. T is float or double.
#pragma once

#include <cstddef>

namespace viva {

// Whether no element is infinite or NaN.
template <typename T>
bool all_finite(const T* values, std::size_t count);

// values[i] = the nearest number within [-limit, limit]; NaN stays NaN. `limit` > 0.
template <typename T>
void clamp(T* values, T limit, std::size_t count);

// Note [Virtual lanes]: element i is added to lane i mod kLanes, in order; then the lanes are added in the canonical
// order. So the sum does not depend on the width of the processor's vectors. Squares and sums are double and rounded
// separately.
inline constexpr std::size_t kLanes = 16;
template <typename T>
double sum_of_squares(const T* values, std::size_t count);

}  // namespace viva
