// Functions of each element, and arithmetic with broadcasting. Operands are float32 or float64, all of one dtype.
//
// Two shapes broadcast as in NumPy: aligned at their last axes, an axis of 1 or a missing one repeats (BroadcastError
// where they do not fit).
#pragma once

#include "viva/autograd/tape.h"

namespace viva::autograd {

Variable exp(const Variable& x);
Variable log(const Variable& x);
Variable sqrt(const Variable& x);
Variable tanh(const Variable& x);
Variable sigmoid(const Variable& x);
Variable relu(const Variable& x);
// `slope` times x where x is negative.
Variable leaky_relu(const Variable& x, double slope = 0.01);
// x·Φ(x) with the cumulative normal distribution Φ, by the error function (no approximation by tanh).
Variable gelu(const Variable& x);
// x·sigmoid(x).
Variable silu(const Variable& x);

Variable operator+(const Variable& a, const Variable& b);
Variable operator-(const Variable& a, const Variable& b);
Variable operator*(const Variable& a, const Variable& b);
Variable operator/(const Variable& a, const Variable& b);

Variable operator-(const Variable& x);
Variable operator+(const Variable& x, double offset);
Variable operator-(const Variable& x, double offset);
Variable operator*(const Variable& x, double factor);
// x times 1/divisor, which is computed in double.
Variable operator/(const Variable& x, double divisor);
inline Variable operator+(double offset, const Variable& x) { return x + offset; }
inline Variable operator*(double factor, const Variable& x) { return x * factor; }
Variable operator-(double minuend, const Variable& x);
Variable operator/(double dividend, const Variable& x);

}  // namespace viva::autograd
