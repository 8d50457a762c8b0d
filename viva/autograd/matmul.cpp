#include "viva/autograd/matmul.h"

#include "viva/tensor/elementwise.h"
#include "viva/tensor/reduce.h"

namespace viva::autograd {
namespace {

// A batch of products of row-major matrices, one beside the other.
struct Product {
  std::int64_t batch = 1;
  bool shared_b = false;  // one b for all of the batch
  MatmulShape shape;
};

void multiply(const Product& product, const Tensor& a, const Tensor& b, const Tensor& out, Arena& arena) {
  const MatmulShape& s = product.shape;
  visit_floating(a.dtype(), "matmul", [&](auto type) {
    using T = decltype(type);
    const T *const left = a.values<T>().data(), *const right = b.values<T>().data();
    T* const result = out.mutable_values<T>().data();
    for (std::int64_t i = 0; i < product.batch; ++i) {
      matmul<T>(s, left + i * s.m * s.k, right + (product.shared_b ? 0 : i * s.k * s.n), nullptr,
                result + i * s.m * s.n, arena);
    }
  });
}

MatmulShape shape_of(std::int64_t m, std::int64_t k, std::int64_t n, bool transpose_a, bool transpose_b) {
  MatmulShape shape{m, k, n};
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
  Product forward;
  MatmulShape& s = forward.shape;
  s = shape_of(axis_from_end(a.shape(), flags.transpose_a ? 1 : 2), axis_from_end(a.shape(), flags.transpose_a ? 2 : 1),
               axis_from_end(b.shape(), flags.transpose_b ? 2 : 1), flags.transpose_a, flags.transpose_b);
  forward.shared_b = b.rank() == 2;
  Shape expected(a.shape().begin(), a.shape().end() - 2), out_shape = expected;
  for (const std::int64_t axis : expected) forward.batch *= axis;
  if (forward.shared_b) expected.clear();
  expected.push_back(flags.transpose_b ? s.n : s.k);
  expected.push_back(flags.transpose_b ? s.k : s.n);
  if (b.shape() != expected) throw ShapeMismatch("matmul, right operand", expected, b.shape());
  out_shape.push_back(s.m);
  out_shape.push_back(s.n);
  if (forward.shared_b && !flags.transpose_a) {
    // One product of all rows.
    s.m *= forward.batch;
    forward.batch = 1;
  }

  Tape& tape = a.tape();
  const Tensor y = tape.allocate(out_shape, a.dtype());
  multiply(forward, a.value(), b.value(), y, tape.arena());
  return tape.record(y, {a, b}, [a, b, forward](Gradients& gradients) {
    const MatmulShape& f = forward.shape;
    const bool ta = f.transpose_a, tb = f.transpose_b;
    Arena& arena = gradients.arena();
    const Tensor& dy = gradients.output();
    gradients.add(a, [&](const Tensor& da) {
      // da = dy·bᵀ, or its transpose b·dyᵀ where a is read transposed.
      if (!ta) {
        multiply({forward.batch, forward.shared_b, shape_of(f.m, f.n, f.k, false, !tb)}, dy, b.value(), da, arena);
        return;
      }
      visit_floating(da.dtype(), "matmul", [&](auto type) {
        using T = decltype(type);
        for (std::int64_t i = 0; i < forward.batch; ++i) {
          matmul<T>(
              shape_of(f.k, f.n, f.m, tb, true), b.value().values<T>().data() + (forward.shared_b ? 0 : i * f.k * f.n),
              dy.values<T>().data() + i * f.m * f.n, nullptr, da.mutable_values<T>().data() + i * f.m * f.k, arena);
        }
      });
    });
    gradients.add(b, [&](const Tensor& db) {
      // db = aᵀ·dy, or its transpose dyᵀ·a; a shared b gets the sum over the batch.
      const MatmulShape shape = tb ? shape_of(f.n, f.m, f.k, true, ta) : shape_of(f.k, f.m, f.n, !ta, false);
      visit_floating(db.dtype(), "matmul", [&](auto type) {
        using T = decltype(type);
        const auto size = static_cast<std::size_t>(f.k * f.n);
        const bool several = forward.shared_b && forward.batch > 1;
        T* const sum = db.mutable_values<T>().data();
        T* const own = several ? arena.allocate<T>(size).data() : sum;
        if (forward.batch == 0) std::fill(sum, sum + db.size(), T{0});
        for (std::int64_t i = 0; i < forward.batch; ++i) {
          const T *const left = a.value().values<T>().data() + i * f.m * f.k, *const right =
                                                                                  dy.values<T>().data() + i * f.m * f.n;
          T* const out = several ? own : sum + i * f.k * f.n;
          matmul<T>(shape, tb ? right : left, tb ? left : right, nullptr, out, arena);
          if (!several) continue;
          for (std::size_t j = 0; j < size; ++j) sum[j] = i == 0 ? own[j] : sum[j] + own[j];
        }
      });
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
  MatmulShape shape = shape_of(1, in_size, out_size, false, true);
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
        matmul<T>(shape_of(shape.n, shape.m, shape.k, true, false), dy, x.value().values<T>().data(), nullptr,
                  out.mutable_values<T>().data(), arena);
      });
      if (shape.bias) {
        gradients.add(offset,
                      [&](const Tensor& out) { column_sums<T>(out.mutable_values<T>().data(), dy, shape.m, shape.n); });
      }
      gradients.add(x, [&](const Tensor& out) {
        matmul<T>(shape_of(shape.m, shape.n, shape.k, false, false), dy, weight.value().values<T>().data(), nullptr,
                  out.mutable_values<T>().data(), arena);
      });
    });
  });
}

}  // namespace viva::autograd
