// The innermost loop of matrix products, for kernels that are compiled once for each instruction set.

// Highway's toggle in place of #pragma once: the file is included once for each instruction set.
#if defined(VIVA_TENSOR_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIVA_TENSOR_PRODUCT_INL_H_
#undef VIVA_TENSOR_PRODUCT_INL_H_
#else
#define VIVA_TENSOR_PRODUCT_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace viva::HWY_NAMESPACE {

// c(row, column) = Σ a(row, k) · b(k, column) for `rows` rows of kVectors vectors of columns. a(row, k) is
// a[row · a_row + k · a_depth]; rows of b and c are b_row and c_row elements apart.
struct ProductPart {
  int64_t rows, depth;
  const float* a;
  int64_t a_row, a_depth;
  const float* b;
  int64_t b_row;
  float* c;
  int64_t c_row;
  bool accumulate;  // adds the sums to what c had
};

template <int kRows, int kVectors, class D>
HWY_INLINE void MultiplyRows(D d, const ProductPart& p, const float* a, float* c) {
  namespace hn = hwy::HWY_NAMESPACE;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t a_row = p.a_row, a_depth = p.a_depth, b_row = p.b_row;
  const float* b = p.b;
  hn::Vec<D> sums[kRows][kVectors];
  for (int row = 0; row < kRows; ++row) {
    for (int v = 0; v < kVectors; ++v) sums[row][v] = hn::Zero(d);
  }
  // Few turns, whose end the processor foresees.
#pragma GCC unroll 4
  for (int64_t k = 0; k < p.depth; ++k) {
    hn::Vec<D> right[kVectors];
    for (int v = 0; v < kVectors; ++v) right[v] = hn::LoadU(d, b + v * lanes);
    for (int row = 0; row < kRows; ++row) {
      const auto left = hn::Set(d, a[row * a_row]);
      for (int v = 0; v < kVectors; ++v) sums[row][v] = hn::MulAdd(left, right[v], sums[row][v]);
    }
    a += a_depth;
    b += b_row;
  }
  for (int row = 0; row < kRows; ++row) {
    for (int v = 0; v < kVectors; ++v) {
      float* const to = c + row * p.c_row + v * lanes;
      hn::StoreU(p.accumulate ? hn::Add(hn::LoadU(d, to), sums[row][v]) : sums[row][v], d, to);
    }
  }
}

// `count` groups of kRows rows.
template <int kRows, int kVectors, class D>
HWY_INLINE void MultiplyGroups(D d, const ProductPart& p, int64_t row, int64_t count) {
  const float* a = p.a + row * p.a_row;
  float* c = p.c + row * p.c_row;
  for (int64_t group = 0; group < count; ++group, a += kRows * p.a_row, c += kRows * p.c_row) {
    MultiplyRows<kRows, kVectors>(d, p, a, c);
  }
}

template <int kVectors, class D>
HWY_INLINE void MultiplyGroupsOf(D d, const ProductPart& p, int64_t height, int64_t row, int64_t count) {
  switch (height) {
    case 6:
      return MultiplyGroups<6, kVectors>(d, p, row, count);
    case 5:
      return MultiplyGroups<5, kVectors>(d, p, row, count);
    case 4:
      return MultiplyGroups<4, kVectors>(d, p, row, count);
    case 3:
      return MultiplyGroups<3, kVectors>(d, p, row, count);
    case 2:
      return MultiplyGroups<2, kVectors>(d, p, row, count);
    default:
      return MultiplyGroups<1, kVectors>(d, p, row, count);
  }
}

// All rows, in groups of nearly even height, at most six: their sums and what they are made of fill the registers.
template <int kVectors, class D>
HWY_INLINE void MultiplyPart(D d, const ProductPart& p) {
  const int64_t groups = (p.rows + 5) / 6, height = p.rows / groups, taller = p.rows - groups * height;
  if (taller > 0) MultiplyGroupsOf<kVectors>(d, p, height + 1, 0, taller);
  MultiplyGroupsOf<kVectors>(d, p, height, taller * (height + 1), groups - taller);
}

}  // namespace viva::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
