#include "viva/tensor/transpose.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "viva/tensor/transpose.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each instruction set

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace viva::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Rows of a tile that are transposed together, four columns at a time.
#if HWY_MAX_BYTES >= 32
constexpr int64_t kTileRows = 8;
#else
constexpr int64_t kTileRows = 4;
#endif

// kTileRows x 4 elements: to[column · to_stride + row] = from[row · from_stride + column].
HWY_INLINE void transpose_tile(const float* from, int64_t from_stride, float* to, int64_t to_stride) {
#if HWY_TARGET == HWY_SCALAR
  for (int64_t i = 0; i < 16; ++i) to[i % 4 * to_stride + i / 4] = from[i / 4 * from_stride + i % 4];
#else
  const hn::FixedTag<float, kTileRows> d;
  const hn::FixedTag<float, 4> four;
  const auto load = [&](int64_t row) HWY_ATTR {
    const auto low = hn::LoadU(four, from + row * from_stride);
#if HWY_MAX_BYTES >= 32
    return hn::Combine(d, hn::LoadU(four, from + (row + 4) * from_stride), low);
#else
    return low;
#endif
  };
  const auto row0 = load(0), row1 = load(1), row2 = load(2), row3 = load(3);
  const auto even_low = hn::InterleaveLower(d, row0, row2), odd_low = hn::InterleaveLower(d, row1, row3);
  const auto even_high = hn::InterleaveUpper(d, row0, row2), odd_high = hn::InterleaveUpper(d, row1, row3);
  hn::StoreU(hn::InterleaveLower(d, even_low, odd_low), d, to);
  hn::StoreU(hn::InterleaveUpper(d, even_low, odd_low), d, to + to_stride);
  hn::StoreU(hn::InterleaveLower(d, even_high, odd_high), d, to + 2 * to_stride);
  hn::StoreU(hn::InterleaveUpper(d, even_high, odd_high), d, to + 3 * to_stride);
#endif
}

// The same for (rows, columns).
void transpose_f32(const float* from, int64_t from_stride, int64_t rows, int64_t columns, float* to,
                   int64_t to_stride) {
  const int64_t whole_rows = rows / kTileRows * kTileRows, whole_columns = columns / 4 * 4;
  const auto part = [&](int64_t row_begin, int64_t row_end, int64_t column_begin) {
    for (int64_t row = row_begin; row < row_end; ++row) {
      for (int64_t column = column_begin; column < columns; ++column) {
        to[column * to_stride + row] = from[row * from_stride + column];
      }
    }
  };
  for (int64_t row = 0; row < whole_rows; row += kTileRows) {
    for (int64_t column = 0; column < whole_columns; column += 4) {
      transpose_tile(from + row * from_stride + column, from_stride, to + column * to_stride + row, to_stride);
    }
  }
  part(0, whole_rows, whole_columns);
  part(whole_rows, rows, 0);
}

}  // namespace
}  // namespace viva::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace viva {

HWY_EXPORT(transpose_f32);

template <>
void transpose<float>(const float* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns, float* to,
                      std::int64_t to_stride) {
  HWY_DYNAMIC_DISPATCH(transpose_f32)(from, from_stride, rows, columns, to, to_stride);
}

// By parts that stay in the first cache.
template <>
void transpose<double>(const double* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns,
                       double* to, std::int64_t to_stride) {
  constexpr std::int64_t kPart = 16;
  for (std::int64_t begin = 0; begin < rows; begin += kPart) {
    const std::int64_t end = std::min(begin + kPart, rows);
    for (std::int64_t column = 0; column < columns; ++column) {
      for (std::int64_t row = begin; row < end; ++row) {
        to[column * to_stride + row] = from[row * from_stride + column];
      }
    }
  }
}

}  // namespace viva
#endif
