// BatchNorm: the layer, with its running statistics.
#pragma once

#include <cstdint>
#include <string>

#include "viva/nn/module.h"

namespace viva::nn {

// (n, channels, …) → the same, each channel with mean 0 and variance 1, times weight (channels, ones at first), plus
// bias (zeros). While training, every worker normalises each of its batches by that batch's own statistics; so the
// result depends on how batches are split over workers and never on executors. In evaluation the buffers
// "running_mean" and "running_variance" are used, which a step moves towards the mean of its batches' statistics
// (TrainConfig::buffer_momentum, docs/algorithms.md). ShapeMismatch naming the layer; InvalidShape for a training batch
// with fewer than two values in a channel.
class BatchNorm final : public Module {
 public:
  explicit BatchNorm(std::int64_t channels, double eps = 1e-5);
  void declare(Declarations& declarations) override;
  Variable forward(const Params& params, const Variable& x) const override;

 private:
  std::int64_t channels_;
  double eps_;
  std::string name_;
  std::size_t weight_ = 0, bias_ = 0, mean_ = 0, variance_ = 0;
};

}  // namespace viva::nn
