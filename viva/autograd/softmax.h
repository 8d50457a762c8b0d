// Softmax over the last axis, and what classifiers and regressions minimise.
#pragma once

#include "viva/autograd/tape.h"
#include "viva/tensor/softmax.h"

namespace viva::autograd {

Variable softmax(const Variable& x);
Variable log_softmax(const Variable& x);

// The mean over the samples of the cross-entropy between classes and softmax(logits): logits (…, classes), targets (…)
// int32. Ignored samples are not counted; where all are, the loss is 0. ShapeMismatch; IndexOutOfBounds naming the
// sample for a class outside.
Variable cross_entropy(const Variable& logits, const Tensor& targets, const CrossEntropyOptions& options = {});

// The following are means over all elements; `targets` has the shape and dtype of the first argument (ShapeMismatch,
// DtypeError).

// Targets from 0 to 1; log(1 + e^x) is computed so that no large x overflows.
Variable binary_cross_entropy_with_logits(const Variable& logits, const Tensor& targets);
Variable mean_squared_error(const Variable& x, const Tensor& targets);
// Half the square up to `delta`, linear beyond.
Variable huber(const Variable& x, const Tensor& targets, double delta = 1.0);

}  // namespace viva::autograd
