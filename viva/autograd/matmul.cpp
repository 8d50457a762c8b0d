#include "viva/autograd/matmul.h"

#include <string>

#include "viva/autograd/pointwise_kernels.h"
#include "viva/tensor/elementwise.h"
#include "viva/tensor/reduce.h"

namespace viva::autograd {
namespace {

// An operand of a batch of products: matrices one after the other, or one that serves all.
struct Operand {
  const Tensor& matrices;
  bool shared = false;
};

// out[i] = left[i] · right[i].
void multiply(const MatmulShape& s, std::int64_t batch, Operand left, Operand right, const Tensor& out, Arena& arena) {
  visit_floating(out.dtype(), "matmul", [&](auto type) {
    using T = decltype(type);
    const T *const a = left.matrices.values<T>().data(), *const b = right.matrices.values<T>().data();
    T* const result = out.mutable_values<T>().data();
    for (std::int64_t i = 0; i < batch; ++i) {
      matmul<T>(s, a + (left.shared ? 0 : i * s.m * s.k), b + (right.shared ? 0 : i * s.k * s.n), nullptr,
                result + i * s.m * s.n, arena);
    }
  });
}

// sum = the matrices of `parts` added up, in their order.
void sum_of_matrices(const Tensor& parts, const Tensor& sum) {
  if (parts.length() == 0) return fill(sum, 0);
  copy(parts.row(0), sum);
  for (std::int64_t i = 1; i < parts.length(); ++i) add_to(sum, parts.row(i));
}

MatmulShape shape_of(Precision precision, std::int64_t m, std::int64_t k, std::int64_t n, bool transpose_a,
                     bool transpose_b) {
  MatmulShape shape{m, k, n};
  shape.precision = precision;
  shape.transpose_a = transpose_a;
  shape.transpose_b = transpose_b;
  return shape;
}

std::int64_t axis_from_end(const Shape& shape, std::size_t from_end) { return shape[shape.size() - from_end]; }

void check_operands(const Variable& a, const Variable& b) {
  if (a.rank() < 2) throw ShapeMismatch("matmul, left operand", {-1, -1}, a.shape());
  if (b.rank() < 2) throw ShapeMismatch("matmul, right operand", {-1, -1}, b.shape());
  if (a.dtype() != b.dtype()) throw DtypeError("matmul: operands of two types");
}

}  // namespace

Variable matmul(const Variable& a, const Variable& b, MatmulFlags flags) {
  check_operands(a, b);
  MatmulShape s = shape_of(a.tape().precision(), axis_from_end(a.shape(), flags.transpose_a ? 1 : 2),
                           axis_from_end(a.shape(), flags.transpose_a ? 2 : 1),
                           axis_from_end(b.shape(), flags.transpose_b ? 2 : 1), flags.transpose_a, flags.transpose_b);
  const bool shared_b = b.rank() == 2;
  Shape expected(a.shape().begin(), a.shape().end() - 2), out_shape = expected;
  std::int64_t batch = element_count(expected);
  if (shared_b) expected.clear();
  expected.push_back(flags.transpose_b ? s.n : s.k);
  expected.push_back(flags.transpose_b ? s.k : s.n);
  if (b.shape() != expected) throw ShapeMismatch("matmul, right operand", expected, b.shape());
  out_shape.push_back(s.m);
  out_shape.push_back(s.n);
  if (shared_b && !flags.transpose_a) {
    // One product of all rows.
    s.m *= batch;
    batch = 1;
  }

  Tape& tape = a.tape();
  const Tensor y = tape.allocate(out_shape, a.dtype());
  multiply(s, batch, {a.value()}, {b.value(), shared_b}, y, tape.arena());
  return tape.record(y, {a, b}, [a, b, s, batch, shared_b](Gradients& gradients) {
    const bool ta = s.transpose_a, tb = s.transpose_b;
    Arena& arena = gradients.arena();
    const Operand dy{gradients.output()}, left{a.value()}, right{b.value(), shared_b};
    gradients.add(a, [&](const Tensor& da) {
      // da = dy·bᵀ, or its transpose b·dyᵀ where a is read transposed.
      if (ta) {
        multiply(shape_of(s.precision, s.k, s.n, s.m, tb, true), batch, right, dy, da, arena);
      } else {
        multiply(shape_of(s.precision, s.m, s.n, s.k, false, !tb), batch, dy, right, da, arena);
      }
    });
    gradients.add(b, [&](const Tensor& db) {
      // db = aᵀ·dy, or its transpose dyᵀ·a; a shared b gets the sum over the batch.
      const bool several = shared_b && batch != 1;
      const Tensor out = several ? Tensor::in(arena, {batch, db.shape()[0], db.shape()[1]}, db.dtype()) : db;
      if (tb) {
        multiply(shape_of(s.precision, s.n, s.m, s.k, true, ta), batch, dy, left, out, arena);
      } else {
        multiply(shape_of(s.precision, s.k, s.m, s.n, !ta, false), batch, left, dy, out, arena);
      }
      if (several) sum_of_matrices(out, db);
    });
  });
}

Variable linear(const Variable& x, const Variable& weight, const std::optional<Variable>& bias, Activation activation) {
  if (weight.rank() != 2) throw ShapeMismatch("linear: weight (out, in)", {-1, -1}, weight.shape());
  const std::int64_t out_size = weight.shape()[0], in_size = weight.shape()[1];
  if (x.rank() == 0 || x.shape().back() != in_size) {
    Shape expected = x.shape();
    if (expected.empty()) expected.push_back(0);
    expected.back() = in_size;
    throw ShapeMismatch("linear: input (…, in)", expected, x.shape());
  }
  if (bias && bias->shape() != Shape{out_size}) throw ShapeMismatch("linear: bias (out)", {out_size}, bias->shape());
  if (x.dtype() != weight.dtype() || (bias && bias->dtype() != weight.dtype())) {
    throw DtypeError("linear: expected input, weight and bias of one type, got " + std::string(name_of(x.dtype())) +
                     " and " + std::string(name_of(weight.dtype())));
  }
  MatmulShape shape = shape_of(x.tape().precision(), 1, in_size, out_size, false, true);
  for (std::size_t axis = 0; axis + 1 < x.rank(); ++axis) shape.m *= x.shape()[axis];
  shape.bias = bias.has_value();
  shape.relu = activation == Activation::kRelu;
  Shape out_shape = x.shape();
  out_shape.back() = out_size;

  Tape& tape = x.tape();
  const Tensor y = tape.allocate(out_shape, x.dtype());
  visit_floating(x.dtype(), "linear", [&](auto type) {
    using T = decltype(type);
    matmul<T>(shape, x.value().values<T>().data(), weight.value().values<T>().data(),
              bias ? bias->value().values<T>().data() : nullptr, y.mutable_values<T>().data(), tape.arena());
  });
  const Variable offset = bias.value_or(weight);
  return tape.record(y, {x, weight, offset}, [x, weight, offset, shape](Gradients& gradients) {
    visit_floating(x.dtype(), "linear", [&](auto type) {
      using T = decltype(type);
      Arena& arena = gradients.arena();
      T* const dy = gradients.output().mutable_values<T>().data();
      if (shape.relu) {
        relu_backward<T>(dy, gradients.value().values<T>().data(), gradients.output().values<T>().size());
      }
      gradients.add(weight, [&](const Tensor& out) {
        matmul<T>(shape_of(shape.precision, shape.n, shape.m, shape.k, true, false), dy, x.value().values<T>().data(),
                  nullptr, out.mutable_values<T>().data(), arena);
      });
      if (shape.bias) {
        gradients.add(offset,
                      [&](const Tensor& out) { column_sums<T>(out.mutable_values<T>().data(), dy, shape.m, shape.n); });
      }
      gradients.add(x, [&](const Tensor& out) {
        matmul<T>(shape_of(shape.precision, shape.m, shape.n, shape.k, false, false), dy,
                  weight.value().values<T>().data(), nullptr, out.mutable_values<T>().data(), arena);
      });
    });
  });
}

}  // namespace viva::autograd
