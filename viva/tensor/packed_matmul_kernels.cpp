#include "viva/tensor/packed_matmul_kernels.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "viva/tensor/packed_matmul_kernels.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each instruction set

#include <hwy/highway.h>

#include "viva/tensor/product-inl.h"
#include "viva/tensor/transpose.h"

HWY_BEFORE_NAMESPACE();
namespace viva::packed::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::CappedTag<float, 16>;

constexpr int64_t kWidestPanel = 32;
HWY_INLINE int64_t panel_width() { return 2 * static_cast<int64_t>(hn::Lanes(Tag())); }

// (depth, columns) of a matrix as a panel (depth, panel), zeros behind the columns.
void pack(const View& from, int64_t depth, int64_t columns, float* panel) {
  const int64_t width = panel_width();
  if (columns < width) std::fill_n(panel, depth * width, 0.0F);
  if (from.row_stride == 1 && from.column_stride != 1) {
    return transpose(from.data, from.column_stride, columns, depth, panel, width);
  }
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t k = 0; k < depth; ++k, panel += width) {
    const float* const row = from.data + k * from.row_stride;
    if (columns == width) {
      hn::StoreU(hn::LoadU(d, row), d, panel);
      hn::StoreU(hn::LoadU(d, row + lanes), d, panel + lanes);
    } else {
      std::copy_n(row, columns, panel);
    }
  }
}

// A block of the result, from the panels of one block of depth.
struct Block {
  int64_t row, rows, column, columns, depth_begin, depth;
  bool first, last;  // of the blocks of depth
};

// Bias and ReLU for a part of `out` that begins in column `column`.
void finish_rows(const Problem& p, float* out, int64_t rows, int64_t columns, int64_t column) {
  for (int64_t row = 0; row < rows; ++row, out += p.out_stride) {
    if (p.bias != nullptr) {
      for (int64_t i = 0; i < columns; ++i) out[i] += p.bias[column + i];
    }
    if (p.relu) {
      for (int64_t i = 0; i < columns; ++i) out[i] = std::max(out[i], 0.0F);
    }
  }
}

// What is left to do once the sums of a block are whole.
void finish(const Problem& p, const Block& b, const float* result, int64_t stride) {
  if (!p.transposed) return finish_rows(p, p.out + b.row * p.out_stride + b.column, b.rows, b.columns, b.column);
  float* const out = p.out + b.column * p.out_stride + b.row;
  transpose(result, stride, b.rows, b.columns, out, p.out_stride);
  finish_rows(p, out, b.columns, b.rows, b.row);
}

// The block's rows of a transposed left operand, close together: in their own place they are far apart, and fall on the
// same lines of the first cache.
View pack_left(const Problem& p, const Block& b, float* to) {
  const float* from = p.left.data + b.row * p.left.row_stride + b.depth_begin * p.left.column_stride;
  if (p.left.row_stride != 1) return {from, p.left.row_stride, p.left.column_stride};
  const hn::CappedTag<float, 8> d;
  static_assert(kRowBlock % 8 == 0);
  for (int64_t k = 0; k < b.depth; ++k, from += p.left.column_stride) {
    float* const line = to + k * kRowBlock;
    if (b.rows < kRowBlock) {
      std::copy_n(from, b.rows, line);
      continue;
    }
    for (int64_t i = 0; i < kRowBlock; i += static_cast<int64_t>(hn::Lanes(d))) {
      hn::StoreU(hn::LoadU(d, from + i), d, line + i);
    }
  }
  return {to, 1, kRowBlock};
}

void multiply_block(const Problem& p, const Block& b, const Workspace& workspace) {
  const Tag d;
  const int64_t width = panel_width();
  float* const result =
      p.transposed ? workspace.result + b.row * kColumnBlock : p.out + b.row * p.out_stride + b.column;
  const int64_t stride = p.transposed ? kColumnBlock : p.out_stride;
  HWY_ALIGN float left_block[kRowBlock * kDepthBlock];
  const View left = pack_left(p, b, left_block);
  viva::HWY_NAMESPACE::ProductPart part{.rows = b.rows,
                                        .depth = b.depth,
                                        .a = left.data,
                                        .a_row = left.row_stride,
                                        .a_depth = left.column_stride,
                                        .b = workspace.panels,
                                        .b_row = width,
                                        .c = result,
                                        .c_row = stride,
                                        .accumulate = !b.first};
  int64_t column = 0;
  for (; column + width <= b.columns; column += width) {
    viva::HWY_NAMESPACE::MultiplyPart<2>(d, part);
    part.b += kDepthBlock * width;
    part.c += width;
  }
  if (column < b.columns) {
    // Whole panels in memory of their own, of which the result takes what it has.
    const int64_t rest = b.columns - column;
    HWY_ALIGN float edge[kRowBlock * kWidestPanel];
    float* const to = part.c;
    for (int64_t row = 0; row < b.rows && !b.first; ++row) std::copy_n(to + row * stride, rest, edge + row * width);
    part.c = edge;
    part.c_row = width;
    viva::HWY_NAMESPACE::MultiplyPart<2>(d, part);
    for (int64_t row = 0; row < b.rows; ++row) std::copy_n(edge + row * width, rest, to + row * stride);
  }
  if (b.last) finish(p, b, result, stride);
}

void multiply_impl(const Problem& p, const Workspace& workspace) {
  const int64_t width = panel_width();
  // Blocks of nearly even depth.
  const int64_t depth_blocks = (p.depth + kDepthBlock - 1) / kDepthBlock;
  const int64_t depth_block = (p.depth + depth_blocks - 1) / depth_blocks;
  Block b{};
  for (b.column = 0; b.column < p.columns; b.column += kColumnBlock) {
    b.columns = std::min(kColumnBlock, p.columns - b.column);
    for (b.depth_begin = 0; b.depth_begin < p.depth; b.depth_begin += b.depth) {
      b.depth = std::min(depth_block, p.depth - b.depth_begin);
      b.first = b.depth_begin == 0;
      b.last = b.depth_begin + b.depth == p.depth;
      for (int64_t column = 0; column < b.columns; column += width) {
        View from = p.right;
        from.data += b.depth_begin * from.row_stride + (b.column + column) * from.column_stride;
        pack(from, b.depth, std::min(width, b.columns - column), workspace.panels + column * kDepthBlock);
      }
      for (b.row = 0; b.row < p.rows; b.row += kRowBlock) {
        b.rows = std::min(kRowBlock, p.rows - b.row);
        multiply_block(p, b, workspace);
      }
    }
  }
}

}  // namespace
}  // namespace viva::packed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace viva::packed {

HWY_EXPORT(multiply_impl);

void multiply(const Problem& problem, const Workspace& workspace) {
  HWY_DYNAMIC_DISPATCH(multiply_impl)(problem, workspace);
}

}  // namespace viva::packed
#endif
