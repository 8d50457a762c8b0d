// A multilayer perceptron for classification: Linear and ReLU in turn, cross-entropy at the end; backward by hand.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "viva/data/dataset.h"
#include "viva/data/step_context.h"
#include "viva/optim/grad_sink.h"

namespace viva::nn {

// Parameters "layers.0.weight" (out, in), "layers.0.bias" (out), "layers.1.weight", … Inputs (n, ...) are flattened to
// (n, sizes.front()) and must be of the parameters' dtype, float32 or float64; targets (n) are int32 classes.
// Immutable; thread-safe.
class Mlp {
 public:
  // sizes: inputs, hidden layers, classes; at least two, each positive (InvalidShape).
  explicit Mlp(std::vector<std::int64_t> sizes);

  const std::vector<std::int64_t>& sizes() const { return sizes_; }

  // Weights and biases uniform in ±1/√(inputs), PyTorch's default for Linear; a pure function of the seed.
  std::vector<Param> initial_params(std::uint64_t seed, Dtype dtype = Dtype::kFloat32) const;

  // The mean cross-entropy of the batch and its gradients: a ComputeGrads callback. Allocates nothing but arena memory.
  // ShapeMismatch, DtypeError; IndexOutOfBounds for a target outside the classes.
  double loss_and_grads(const StepContext& context, const data::Batch& batch, std::span<const Param> params,
                        GradSink& grads) const;

  struct Evaluation {
    double loss = 0;  // mean over the batch
    std::int64_t correct = 0;
  };
  Evaluation evaluate(const data::Batch& batch, std::span<const Param> params, Arena& arena) const;

 private:
  std::vector<std::int64_t> sizes_;
};

}  // namespace viva::nn
