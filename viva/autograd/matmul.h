// Matrix products.
#pragma once

#include <optional>

#include "viva/autograd/tape.h"
#include "viva/tensor/matmul.h"

namespace viva::autograd {

// (…, m, k) · (…, k, n) → (…, m, n), with flags that read a matrix as its transpose. The leading axes of both are
// equal, or b has none: then one matrix serves all. ShapeMismatch, DtypeError.
Variable matmul(const Variable& a, const Variable& b, MatmulFlags flags = {});

enum class Activation { kNone, kRelu };

// x (…, in) times the transpose of weight (out, in), plus bias (out) where there is one, then the activation:
// (…, out). ShapeMismatch, DtypeError.
Variable linear(const Variable& x, const Variable& weight, const std::optional<Variable>& bias,
                Activation activation = Activation::kNone);

}  // namespace viva::autograd
