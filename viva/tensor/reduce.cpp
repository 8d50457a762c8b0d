#include "viva/tensor/reduce.h"

#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "viva/tensor/reduce.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each instruction set

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace viva::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A column's sum is a chain of plain additions, which rounds alike in a vector and alone: the tail may be scalar.
template <typename T>
void column_sums_impl(T* out, const T* matrix, size_t rows, size_t columns) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  size_t c = 0;
  // Four chains at once hide the latency of an addition.
  for (; c + 4 * lanes <= columns; c += 4 * lanes) {
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    for (size_t r = 0; r < rows; ++r) {
      const T* row = matrix + r * columns + c;
      s0 = hn::Add(s0, hn::LoadU(d, row));
      s1 = hn::Add(s1, hn::LoadU(d, row + lanes));
      s2 = hn::Add(s2, hn::LoadU(d, row + 2 * lanes));
      s3 = hn::Add(s3, hn::LoadU(d, row + 3 * lanes));
    }
    hn::StoreU(s0, d, out + c);
    hn::StoreU(s1, d, out + c + lanes);
    hn::StoreU(s2, d, out + c + 2 * lanes);
    hn::StoreU(s3, d, out + c + 3 * lanes);
  }
  for (; c < columns; ++c) {
    T sum = 0;
    for (size_t r = 0; r < rows; ++r) sum += matrix[r * columns + c];
    out[c] = sum;
  }
}

void column_sums_f32(float* out, const float* matrix, size_t rows, size_t columns) {
  column_sums_impl(out, matrix, rows, columns);
}
void column_sums_f64(double* out, const double* matrix, size_t rows, size_t columns) {
  column_sums_impl(out, matrix, rows, columns);
}

}  // namespace
}  // namespace viva::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace viva {

HWY_EXPORT(column_sums_f32);
HWY_EXPORT(column_sums_f64);

template <>
void column_sums<float>(float* out, const float* matrix, std::int64_t rows, std::int64_t columns) {
  HWY_DYNAMIC_DISPATCH(column_sums_f32)(out, matrix, static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
}
template <>
void column_sums<double>(double* out, const double* matrix, std::int64_t rows, std::int64_t columns) {
  HWY_DYNAMIC_DISPATCH(column_sums_f64)(out, matrix, static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
}

}  // namespace viva
#endif
