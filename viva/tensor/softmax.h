// Softmax with cross-entropy, the loss of a classifier.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "viva/tensor/arena.h"

namespace viva {

struct CrossEntropyOptions {
  double label_smoothing = 0;                // this share of each target is spread evenly over the classes
  std::optional<std::int32_t> ignore_label;  // rows with it count for nothing: loss and gradient are zero
};

// logits is (rows, classes), labels (rows). Returns the sum over the rows of the cross-entropy between the target and
// softmax(logits), in double and in row order. Where `grad` is not null it becomes scale * (softmax(logits) - target),
// (rows, classes). IndexOutOfBounds, naming the row, for a label outside 0 … classes - 1. T is float or double.
template <typename T>
double softmax_cross_entropy(const T* logits, std::span<const std::int32_t> labels, std::int64_t classes, T* grad,
                             T scale, Arena& arena, const CrossEntropyOptions& options = {});

}  // namespace viva
