// Layer normalisation.
#pragma once

#include "viva/autograd/tape.h"

namespace viva::autograd {

// Over the last axis: weight·(x - mean)/√(variance + eps) + bias, with weight and bias of that axis' length; the
// variance is the mean of the squares. ShapeMismatch, DtypeError.
Variable layer_norm(const Variable& x, const Variable& weight, const Variable& bias, double eps = 1e-5);

}  // namespace viva::autograd
