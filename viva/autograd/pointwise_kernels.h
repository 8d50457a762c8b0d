// Element by element over tensors of any size and place: the loops under viva/autograd/pointwise.h.
#pragma once

#include "viva/tensor/tensor.h"

namespace viva::autograd {

enum class Unary { kExp, kLog, kSqrt, kTanh, kSigmoid, kRelu, kLeakyRelu, kGelu, kSilu };
enum class Binary { kAdd, kSubtract, kMultiply, kDivide, kNegatedQuotient };

// All tensors of a call have one size and one dtype, float32 or float64 (DtypeError). `out` may be an operand.

// out = f(x) and, where `slope` is not null, slope = f'(x). `parameter` is the leaky ReLU's slope below zero.
void unary(Unary operation, double parameter, const Tensor& x, const Tensor& out, const Tensor* slope);
void binary(Binary operation, const Tensor& a, const Tensor& b, const Tensor& out);
// out = factor·x + offset.
void affine(const Tensor& x, double factor, double offset, const Tensor& out);

inline void add_to(const Tensor& out, const Tensor& x) { binary(Binary::kAdd, out, x, out); }
void fill(const Tensor& out, double value);
void copy(const Tensor& x, const Tensor& out);

}  // namespace viva::autograd
