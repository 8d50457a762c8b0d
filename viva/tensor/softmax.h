// Softmax with cross-entropy, the loss of a classifier.
#pragma once

#include <cstdint>
#include <span>

#include "viva/tensor/arena.h"

namespace viva {

// logits is (rows, classes), labels (rows). Returns the sum over the rows of -log softmax(logits)[label], in double and
// in row order. Where `grad` is not null it becomes scale * (softmax(logits) - onehot(label)), (rows, classes).
// IndexOutOfBounds for a label outside 0 … classes - 1. T is float or double.
template <typename T>
double softmax_cross_entropy(const T* logits, std::span<const std::int32_t> labels, std::int64_t classes, T* grad,
                             T scale, Arena& arena);

}  // namespace viva
