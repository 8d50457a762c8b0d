// The loops of packed_matmul(): one operand is packed into panels, which the other one's rows are multiplied with.
#pragma once

#include <cstdint>

namespace viva::packed {

// Element (row, column) is data[row · row_stride + column · column_stride].
struct View {
  const float* data;
  std::int64_t row_stride, column_stride;
};

// left · right, (rows, columns) = (rows, depth) · (depth, columns); one stride of each is 1. The result goes to `out`,
// (rows, columns) or, where `transposed`, (columns, rows), whose rows are out_stride elements apart; `bias` is added to
// the rows of `out`, unless it is null.
struct Problem {
  std::int64_t rows, columns, depth;
  View left, right;
  const float* bias;
  bool relu;
  bool transposed;
  float* out;
  std::int64_t out_stride;
};

// A block of `right`, kDepthBlock x kColumnBlock, is packed into panels of two vectors' width and stays in the second
// cache; kRowBlock rows of `left` and one panel stay in the first.
inline constexpr std::int64_t kRowBlock = 24, kColumnBlock = 128, kDepthBlock = 160;

struct Workspace {
  float* panels;  // kDepthBlock · kColumnBlock
  float* result;  // where the result is transposed: rows · kColumnBlock
};

void multiply(const Problem& problem, const Workspace& workspace);

}  // namespace viva::packed
