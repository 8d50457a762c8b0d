#include "viva/tensor/matmul.h"

#include <Eigen/Core>
#include <algorithm>

#include "viva/tensor/dnnl_execution.h"
#include "viva/tensor/dnnl_matmul.h"
#include "viva/tensor/kernel_scope.h"
#include "viva/tensor/packed_matmul.h"

namespace viva {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::Map<const RowMajor> matrix(const double* data, std::int64_t rows, std::int64_t columns) {
  return {data, rows, columns};
}

void eigen_matmul(const MatmulShape& s, const double* a, const double* b, const double* bias, double* out) {
  Eigen::Map<RowMajor> product(out, s.m, s.n);
  if (s.transpose_a && s.transpose_b) {
    product.noalias() = matrix(a, s.k, s.m).transpose() * matrix(b, s.n, s.k).transpose();
  } else if (s.transpose_a) {
    product.noalias() = matrix(a, s.k, s.m).transpose() * matrix(b, s.k, s.n);
  } else if (s.transpose_b) {
    product.noalias() = matrix(a, s.m, s.k) * matrix(b, s.n, s.k).transpose();
  } else {
    product.noalias() = matrix(a, s.m, s.k) * matrix(b, s.k, s.n);
  }
  if (s.bias) product.rowwise() += Eigen::Map<const Eigen::RowVectorXd>(bias, s.n);
  if (s.relu) product = product.cwiseMax(0.0);
}

// A product without terms or without results, which kernels need not know.
template <typename T>
void empty_matmul(const MatmulShape& s, const T* bias, T* out) {
  for (std::int64_t i = 0; i < s.m * s.n; ++i) {
    const T value = s.bias ? bias[i % s.n] : T{0};
    out[i] = s.relu ? std::max(value, T{0}) : value;
  }
}

}  // namespace

template <>
void matmul<float>(const MatmulShape& shape, const float* a, const float* b, const float* bias, float* out,
                   Arena& arena) {
  const KernelScope scope;
  if (shape.m == 0 || shape.n == 0 || shape.k == 0) return empty_matmul(shape, bias, out);
  if (shape.precision == Precision::kF32 && !dnnl_has_avx512()) return packed_matmul(shape, a, b, bias, out, arena);
  dnnl_matmul(shape, a, b, bias, out, arena);
}

template <>
void matmul<double>(const MatmulShape& shape, const double* a, const double* b, const double* bias, double* out,
                    Arena&) {
  const KernelScope scope;
  if (shape.m == 0 || shape.n == 0 || shape.k == 0) return empty_matmul(shape, bias, out);
  eigen_matmul(shape, a, b, bias, out);
}

Tensor matmul(const Tensor& a, const Tensor& b, MatmulFlags flags) {
  if (a.rank() != 2) throw ShapeMismatch("matmul, left operand", {-1, -1}, a.shape());
  if (b.rank() != 2) throw ShapeMismatch("matmul, right operand", {-1, -1}, b.shape());
  MatmulShape shape;
  shape.transpose_a = flags.transpose_a;
  shape.transpose_b = flags.transpose_b;
  shape.m = a.shape()[flags.transpose_a ? 1 : 0];
  shape.k = a.shape()[flags.transpose_a ? 0 : 1];
  shape.n = b.shape()[flags.transpose_b ? 0 : 1];
  const Shape expected = flags.transpose_b ? Shape{shape.n, shape.k} : Shape{shape.k, shape.n};
  if (b.shape() != expected) throw ShapeMismatch("matmul, right operand", expected, b.shape());
  Tensor out = Tensor::zeros({shape.m, shape.n}, a.dtype());
  visit_floating(a.dtype(), "matmul", [&](auto type) {
    using T = decltype(type);
    Arena arena;
    matmul<T>(shape, a.values<T>().data(), b.values<T>().data(), nullptr, out.mutable_values<T>().data(), arena);
  });
  return out;
}

}  // namespace viva
