#include "viva/tensor/packed_matmul.h"

#include "viva/tensor/packed_matmul_kernels.h"

namespace viva {

void packed_matmul(const MatmulShape& s, const float* a, const float* b, const float* bias, float* out, Arena& arena) {
  using packed::View;
  const View left = s.transpose_a ? View{a, 1, s.m} : View{a, s.k, 1};
  const View right = s.transpose_b ? View{b, 1, s.k} : View{b, s.n, 1};
  packed::Problem p{.rows = s.m,
                    .columns = s.n,
                    .depth = s.k,
                    .left = left,
                    .right = right,
                    .bias = s.bias ? bias : nullptr,
                    .relu = s.relu,
                    .transposed = false,
                    .out = out,
                    .out_stride = s.n};
  // Packing b may mean transposing it; where a is much smaller, a is packed, and the results are transposed instead.
  if (s.transpose_b && s.m * (s.k + 2 * s.n) < s.n * s.k) {
    p.transposed = true;
    p.rows = s.n;
    p.columns = s.m;
    p.left = {right.data, right.column_stride, right.row_stride};
    p.right = {left.data, left.column_stride, left.row_stride};
  }
  const Arena::Scope scope(arena);
  const std::int64_t results = p.transposed ? p.rows * packed::kColumnBlock : 0;
  const packed::Workspace workspace{
      arena.allocate<float>(static_cast<std::size_t>(packed::kColumnBlock * packed::kDepthBlock)).data(),
      arena.allocate<float>(static_cast<std::size_t>(results)).data()};
  packed::multiply(p, workspace);
}

}  // namespace viva
