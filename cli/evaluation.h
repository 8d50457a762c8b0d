// How good parameters are on a dataset.
#pragma once

#include <cstdint>
#include <span>

#include "viva/data/dataset.h"
#include "viva/nn/model.h"

namespace viva::cli {

struct Evaluation {
  double loss = 0;  // mean over the samples
  double accuracy = 0;
  std::int64_t samples = 0;
};

// In batches of fixed size, in the dataset's order, by one thread: the same bits everywhere.
Evaluation evaluate(const nn::Model& model, std::span<const Param> params, const data::Dataset& dataset);

// What the model makes of each sample: float32 (samples, classes), each row with sum 1.
Tensor probabilities(const nn::Model& model, std::span<const Param> params, const data::Dataset& dataset);

}  // namespace viva::cli
