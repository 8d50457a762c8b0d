// Reductions, vectorised across columns; each sum runs in row order.
#pragma once

#include <cstdint>

namespace viva {

// out[c] = matrix[0][c] + matrix[1][c] + … ; matrix is (rows, columns), out is (columns). T is float or double.
template <typename T>
void column_sums(T* out, const T* matrix, std::int64_t rows, std::int64_t columns);

}  // namespace viva
