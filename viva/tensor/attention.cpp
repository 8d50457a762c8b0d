#include "viva/tensor/attention.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "viva/tensor/attention.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each instruction set

#include <hwy/highway.h>

#include "viva/tensor/math-inl.h"
#include "viva/tensor/transpose.h"
#include "viva/tensor/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace viva::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Which products of a sum a triangular operand leaves: all, those up to the row's own place, or those from it on.
enum class Terms { kAll, kUpTo, kFrom };

// out(m, n) = a(m, k) · b(k, n), small enough for the caches. a may be stored either way round; the elements of a row
// of b and of out lie side by side.
template <typename T>
struct Product {
  const T* a;
  size_t a_row, a_column;
  const T* b;
  size_t b_row;
  T* out;
  size_t out_row;
  size_t m, n, k;
  Terms terms = Terms::kAll;
  bool lower = false;  // only the columns up to the end of the row's block are wanted
};

// Rows that are computed together: as many as the registers hold, two vectors wide.
constexpr size_t kBlock = HWY_MAX_BYTES >= 64 ? 8 : 4;

// Rows [i, i + kRows) of the columns from j on, `left` and `right` of them in two vectors: whole ones, so that the loop
// asks nothing, or parts. Each element is one chain of fused additions, in the order of k, whatever stands beside it.
template <size_t kRows, bool kWhole, typename T>
void product_tile(const Product<T>& p, size_t i, size_t j, size_t begin, size_t end, size_t left, size_t right) {
  const VectorTag<T> d;
  const size_t lanes = hn::Lanes(d);
  Vector<T> sums[kRows][2];
  for (auto& row : sums) row[0] = row[1] = hn::Zero(d);
  for (size_t k = begin; k < end; ++k) {
    const T* const b = p.b + k * p.b_row + j;
    const auto b0 = kWhole ? hn::LoadU(d, b) : LoadPart(b, left);
    const auto b1 = kWhole ? hn::LoadU(d, b + lanes) : LoadPart(b + lanes, right);
    const T* const a = p.a + i * p.a_row + k * p.a_column;
    for (size_t r = 0; r < kRows; ++r) {
      const auto factor = hn::Set(d, a[r * p.a_row]);
      sums[r][0] = hn::MulAdd(factor, b0, sums[r][0]);
      sums[r][1] = hn::MulAdd(factor, b1, sums[r][1]);
    }
  }
  for (size_t r = 0; r < kRows; ++r) {
    T* const out = p.out + (i + r) * p.out_row + j;
    StorePart<T>(sums[r][0], out, left);
    StorePart<T>(sums[r][1], out + lanes, right);
  }
}

template <size_t kRows, typename T>
void product_rows(const Product<T>& p, size_t i, size_t begin, size_t end, size_t columns) {
  const size_t lanes = hn::Lanes(VectorTag<T>());
  for (size_t j = 0; j < columns; j += 2 * lanes) {
    const size_t left = std::min(lanes, columns - j), right = std::min(lanes, columns - j - left);
    if (right == lanes) {
      product_tile<kRows, true>(p, i, j, begin, end, left, right);
    } else {
      product_tile<kRows, false>(p, i, j, begin, end, left, right);
    }
  }
}

template <typename T>
void multiply(const Product<T>& p) {
  for (size_t i = 0; i < p.m; i += kBlock) {
    const size_t rows = std::min(kBlock, p.m - i);
    const size_t begin = p.terms == Terms::kFrom ? i : 0;
    const size_t end = p.terms == Terms::kUpTo ? std::min(i + rows, p.k) : p.k;
    const size_t columns = p.lower ? std::min(i + rows, p.n) : p.n;
    if (rows == kBlock) {
      product_rows<kBlock>(p, i, begin, end, columns);
    } else {
      for (size_t r = i; r < i + rows; ++r) product_rows<1>(p, r, begin, end, columns);
    }
  }
}

// out(columns, rows) = x(rows, columns)ᵀ.
template <typename T>
void transpose_head(const T* x, size_t x_row, size_t rows, size_t columns, T* out) {
  const auto count = static_cast<int64_t>(rows);
  transpose<T>(x, static_cast<int64_t>(x_row), count, static_cast<int64_t>(columns), out, count);
}

// Row i of the scores becomes softmax(factor · its first i + 1 elements), and zero behind them.
template <typename T>
void causal_softmax(T* scores, size_t length, T factor) {
  const VectorTag<T> d;
  for (size_t i = 0; i < length; ++i) {
    T* const row = scores + i * length;
    const size_t count = i + 1;
    const auto largest = hn::Set(d, *std::max_element(row, row + count));
    const auto f = hn::Set(d, factor);
    auto sum = hn::Zero(d);
    ForVectors<T>(count, [&](size_t k, size_t n) HWY_ATTR {
      const auto e = NanSafeExp(d, hn::Mul(f, hn::Sub(LoadPart(row + k, n), largest)));
      StorePart<T>(e, row + k, n);
      sum = hn::Add(sum, hn::IfThenElseZero(hn::FirstN(d, n), e));
    });
    const auto scale = hn::Set(d, T{1} / SumOf<T>(sum));
    ForVectors<T>(count,
                  [&](size_t k, size_t n) HWY_ATTR { StorePart<T>(hn::Mul(scale, LoadPart(row + k, n)), row + k, n); });
    std::fill(row + count, row + length, T{0});
  }
}

// Row i of dweights becomes factor · weights·(dweights - Σ dweights·weights), and zero behind its i + 1 elements.
template <typename T>
void causal_softmax_backward(const T* weights, T* dweights, size_t length, T factor) {
  const VectorTag<T> d;
  for (size_t i = 0; i < length; ++i) {
    const T* const w = weights + i * length;
    T* const row = dweights + i * length;
    const size_t count = i + 1;
    auto sum = hn::Zero(d);
    ForVectors<T>(
        count, [&](size_t k, size_t n) HWY_ATTR { sum = hn::MulAdd(LoadPart(w + k, n), LoadPart(row + k, n), sum); });
    const auto dot = hn::Set(d, SumOf<T>(sum)), f = hn::Set(d, factor);
    ForVectors<T>(count, [&](size_t k, size_t n) HWY_ATTR {
      const auto centred = hn::Sub(LoadPart(row + k, n), dot);
      StorePart<T>(hn::Mul(hn::Mul(f, LoadPart(w + k, n)), centred), row + k, n);
    });
    std::fill(row + count, row + length, T{0});
  }
}

// The sizes of one head, and where its rows lie.
template <typename T>
struct Head {
  size_t length, size, channels;
  T factor;
  explicit Head(const AttentionShape& s)
      : length(static_cast<size_t>(s.length)),
        size(static_cast<size_t>(s.head_size)),
        channels(static_cast<size_t>(s.channels())),
        factor(static_cast<T>(1.0 / std::sqrt(static_cast<double>(s.head_size)))) {}
  size_t qkv_begin(std::int64_t b, std::int64_t h) const {
    return static_cast<size_t>(b) * length * 3 * channels + static_cast<size_t>(h) * size;
  }
  size_t out_begin(std::int64_t b, std::int64_t h) const {
    return static_cast<size_t>(b) * length * channels + static_cast<size_t>(h) * size;
  }
};

template <typename T>
void forward_impl(const AttentionShape& shape, const T* qkv, T* weights, T* out, T* keys) {
  const Head<T> head(shape);
  const size_t length = head.length, size = head.size, row = 3 * head.channels;
  for (std::int64_t b = 0; b < shape.batch; ++b) {
    for (std::int64_t h = 0; h < shape.heads; ++h, weights += length * length) {
      const T *const q = qkv + head.qkv_begin(b, h), *const k = q + head.channels, *const v = k + head.channels;
      transpose_head(k, row, length, size, keys);
      multiply<T>({.a = q,
                   .a_row = row,
                   .a_column = 1,
                   .b = keys,
                   .b_row = length,
                   .out = weights,
                   .out_row = length,
                   .m = length,
                   .n = length,
                   .k = size,
                   .lower = true});
      causal_softmax(weights, length, head.factor);
      multiply<T>({.a = weights,
                   .a_row = length,
                   .a_column = 1,
                   .b = v,
                   .b_row = row,
                   .out = out + head.out_begin(b, h),
                   .out_row = head.channels,
                   .m = length,
                   .n = size,
                   .k = length,
                   .terms = Terms::kUpTo});
    }
  }
}

template <typename T>
void backward_impl(const AttentionShape& shape, const T* qkv, const T* weights, const T* dout, T* dqkv, T* values,
                   T* dscores) {
  const Head<T> head(shape);
  const size_t length = head.length, size = head.size, row = 3 * head.channels;
  for (std::int64_t b = 0; b < shape.batch; ++b) {
    for (std::int64_t h = 0; h < shape.heads; ++h, weights += length * length) {
      const T *const q = qkv + head.qkv_begin(b, h), *const k = q + head.channels, *const v = k + head.channels;
      T *const dq = dqkv + head.qkv_begin(b, h), *const dk = dq + head.channels, *const dv = dk + head.channels;
      const T* const dy = dout + head.out_begin(b, h);
      multiply<T>({.a = weights,
                   .a_row = 1,
                   .a_column = length,
                   .b = dy,
                   .b_row = head.channels,
                   .out = dv,
                   .out_row = row,
                   .m = length,
                   .n = size,
                   .k = length,
                   .terms = Terms::kFrom});
      transpose_head(v, row, length, size, values);
      multiply<T>({.a = dy,
                   .a_row = head.channels,
                   .a_column = 1,
                   .b = values,
                   .b_row = length,
                   .out = dscores,
                   .out_row = length,
                   .m = length,
                   .n = length,
                   .k = size,
                   .lower = true});
      causal_softmax_backward(weights, dscores, length, head.factor);
      multiply<T>({.a = dscores,
                   .a_row = length,
                   .a_column = 1,
                   .b = k,
                   .b_row = row,
                   .out = dq,
                   .out_row = row,
                   .m = length,
                   .n = size,
                   .k = length,
                   .terms = Terms::kUpTo});
      multiply<T>({.a = dscores,
                   .a_row = 1,
                   .a_column = length,
                   .b = q,
                   .b_row = row,
                   .out = dk,
                   .out_row = row,
                   .m = length,
                   .n = size,
                   .k = length,
                   .terms = Terms::kFrom});
    }
  }
}

void forward_f32(const AttentionShape& shape, const float* qkv, float* weights, float* out, float* keys) {
  forward_impl(shape, qkv, weights, out, keys);
}
void forward_f64(const AttentionShape& shape, const double* qkv, double* weights, double* out, double* keys) {
  forward_impl(shape, qkv, weights, out, keys);
}
void backward_f32(const AttentionShape& shape, const float* qkv, const float* weights, const float* dout, float* dqkv,
                  float* values, float* dscores) {
  backward_impl(shape, qkv, weights, dout, dqkv, values, dscores);
}
void backward_f64(const AttentionShape& shape, const double* qkv, const double* weights, const double* dout,
                  double* dqkv, double* values, double* dscores) {
  backward_impl(shape, qkv, weights, dout, dqkv, values, dscores);
}

}  // namespace
}  // namespace viva::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace viva {
namespace {

HWY_EXPORT(forward_f32);
HWY_EXPORT(forward_f64);
HWY_EXPORT(backward_f32);
HWY_EXPORT(backward_f64);

template <typename T>
T* scratch(Arena& arena, std::int64_t rows, std::int64_t columns) {
  return arena.allocate<T>(static_cast<std::size_t>(rows * columns)).data();
}

}  // namespace

template <>
void causal_attention_forward<float>(const AttentionShape& shape, const float* qkv, float* weights, float* out,
                                     Arena& arena) {
  const Arena::Scope scope(arena);
  HWY_DYNAMIC_DISPATCH(forward_f32)(shape, qkv, weights, out, scratch<float>(arena, shape.head_size, shape.length));
}
template <>
void causal_attention_forward<double>(const AttentionShape& shape, const double* qkv, double* weights, double* out,
                                      Arena& arena) {
  const Arena::Scope scope(arena);
  HWY_DYNAMIC_DISPATCH(forward_f64)(shape, qkv, weights, out, scratch<double>(arena, shape.head_size, shape.length));
}

template <>
void causal_attention_backward<float>(const AttentionShape& shape, const float* qkv, const float* weights,
                                      const float* dout, float* dqkv, Arena& arena) {
  const Arena::Scope scope(arena);
  HWY_DYNAMIC_DISPATCH(backward_f32)
  (shape, qkv, weights, dout, dqkv, scratch<float>(arena, shape.head_size, shape.length),
   scratch<float>(arena, shape.length, shape.length));
}
template <>
void causal_attention_backward<double>(const AttentionShape& shape, const double* qkv, const double* weights,
                                       const double* dout, double* dqkv, Arena& arena) {
  const Arena::Scope scope(arena);
  HWY_DYNAMIC_DISPATCH(backward_f64)
  (shape, qkv, weights, dout, dqkv, scratch<double>(arena, shape.head_size, shape.length),
   scratch<double>(arena, shape.length, shape.length));
}

}  // namespace viva
#endif
