#include "viva/autograd/pointwise.h"

#include <string>

#include "viva/autograd/pointwise_kernels.h"
#include "viva/autograd/shape.h"

namespace viva::autograd {
namespace {

// The kernel computes the derivative beside the value, so that backward is one multiplication, whatever the function.
Variable apply(Unary operation, const Variable& x, double parameter = 0) {
  Tape& tape = x.tape();
  const Tensor y = tape.allocate(x.shape(), x.dtype());
  if (!tape.records({x})) {
    unary(operation, parameter, x.value(), y, nullptr);
    return tape.constant(y);
  }
  const Variable slope = tape.constant(tape.allocate(x.shape(), x.dtype()));
  unary(operation, parameter, x.value(), y, &slope.value());
  return tape.record(y, {x}, [x, slope](Gradients& gradients) {
    gradients.add_last(x,
                       [&](const Tensor& out) { binary(Binary::kMultiply, gradients.output(), slope.value(), out); });
  });
}

struct Operands {
  Variable a, b;
};

// Both operands in their common shape.
Operands broadcast(const Variable& a, const Variable& b) {
  if (a.dtype() != b.dtype()) {
    throw DtypeError("operands of two types: " + std::string(name_of(a.dtype())) + " and " +
                     std::string(name_of(b.dtype())));
  }
  if (a.shape() == b.shape()) return {a, b};
  const Shape shape = broadcast_shape(a.shape(), b.shape());
  return {expand(a, shape), expand(b, shape)};
}

Tensor result_of(Binary operation, const Variable& a, const Variable& b) {
  Tensor out = a.tape().allocate(a.shape(), a.dtype());
  binary(operation, a.value(), b.value(), out);
  return out;
}

Variable affine_of(const Variable& x, double factor, double offset) {
  Tape& tape = x.tape();
  const Tensor y = tape.allocate(x.shape(), x.dtype());
  affine(x.value(), factor, offset, y);
  return tape.record(y, {x}, [x, factor](Gradients& gradients) {
    gradients.add_last(x, [&](const Tensor& out) { affine(gradients.output(), factor, 0, out); });
  });
}

}  // namespace

Variable exp(const Variable& x) { return apply(Unary::kExp, x); }
Variable log(const Variable& x) { return apply(Unary::kLog, x); }
Variable sqrt(const Variable& x) { return apply(Unary::kSqrt, x); }
Variable tanh(const Variable& x) { return apply(Unary::kTanh, x); }
Variable sigmoid(const Variable& x) { return apply(Unary::kSigmoid, x); }
Variable relu(const Variable& x) { return apply(Unary::kRelu, x); }
Variable leaky_relu(const Variable& x, double slope) { return apply(Unary::kLeakyRelu, x, slope); }
Variable gelu(const Variable& x) { return apply(Unary::kGelu, x); }
Variable silu(const Variable& x) { return apply(Unary::kSilu, x); }

Variable operator+(const Variable& left, const Variable& right) {
  const auto [a, b] = broadcast(left, right);
  return a.tape().record(result_of(Binary::kAdd, a, b), {a, b}, [a = a, b = b](Gradients& gradients) {
    gradients.add(a, [&](const Tensor& out) { copy(gradients.output(), out); });
    gradients.add_last(b, [&](const Tensor& out) { copy(gradients.output(), out); });
  });
}

Variable operator-(const Variable& left, const Variable& right) {
  const auto [a, b] = broadcast(left, right);
  return a.tape().record(result_of(Binary::kSubtract, a, b), {a, b}, [a = a, b = b](Gradients& gradients) {
    gradients.add(a, [&](const Tensor& out) { copy(gradients.output(), out); });
    gradients.add_last(b, [&](const Tensor& out) { affine(gradients.output(), -1, 0, out); });
  });
}

Variable operator*(const Variable& left, const Variable& right) {
  const auto [a, b] = broadcast(left, right);
  return a.tape().record(result_of(Binary::kMultiply, a, b), {a, b}, [a = a, b = b](Gradients& gradients) {
    gradients.add(a, [&](const Tensor& out) { binary(Binary::kMultiply, gradients.output(), b.value(), out); });
    gradients.add_last(b, [&](const Tensor& out) { binary(Binary::kMultiply, gradients.output(), a.value(), out); });
  });
}

Variable operator/(const Variable& left, const Variable& right) {
  const auto [a, b] = broadcast(left, right);
  return a.tape().record(result_of(Binary::kDivide, a, b), {a, b}, [a = a, b = b](Gradients& gradients) {
    gradients.add(a, [&](const Tensor& out) { binary(Binary::kDivide, gradients.output(), b.value(), out); });
    gradients.add_last(b, [&](const Tensor& out) {
      binary(Binary::kMultiply, gradients.output(), gradients.value(), out);
      binary(Binary::kNegatedQuotient, out, b.value(), out);
    });
  });
}

Variable operator-(const Variable& x) { return affine_of(x, -1, 0); }
Variable operator+(const Variable& x, double offset) { return affine_of(x, 1, offset); }
Variable operator-(const Variable& x, double offset) { return affine_of(x, 1, -offset); }
Variable operator*(const Variable& x, double factor) { return affine_of(x, factor, 0); }
Variable operator/(const Variable& x, double divisor) { return affine_of(x, 1 / divisor, 0); }
Variable operator-(double minuend, const Variable& x) { return affine_of(x, -1, minuend); }

Variable operator/(double dividend, const Variable& x) {
  Tape& tape = x.tape();
  const Tensor numerator = tape.allocate(x.shape(), x.dtype());
  fill(numerator, dividend);
  return tape.constant(numerator) / x;
}

}  // namespace viva::autograd
