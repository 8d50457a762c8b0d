// The transposition of a matrix that is part of a larger one.
#pragma once

#include <cstdint>

namespace viva {

// to[column · to_stride + row] = from[row · from_stride + column] for (rows, columns). T is float or double.
template <typename T>
void transpose(const T* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns, T* to,
               std::int64_t to_stride);

}  // namespace viva
