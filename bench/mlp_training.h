// The perceptron 784-256-128-10 on Fashion-MNIST, two workers of 64 samples, SGD with momentum.
#pragma once

#include <vector>

#include "viva/data/dataset.h"
#include "viva/nn/model.h"

namespace viva::bench {

class MlpTraining {
 public:
  // IoError where Fashion-MNIST is not installed.
  explicit MlpTraining(int steps);

  // Samples a second on this many threads; Error where the training did not learn or where its parameters are not
  // those of the first measurement, bit for bit.
  double measure(int threads);

  // Floating-point operations a sample of a step's matrix products: forward, weights' and activations' gradients.
  double flops_per_sample() const;

 private:
  void check(double loss, std::vector<Param> params);

  data::Dataset dataset_;
  std::vector<std::int64_t> sizes_;
  nn::Model model_;
  int steps_;
  std::vector<Param> first_result_;
};

}  // namespace viva::bench
