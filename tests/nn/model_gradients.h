// Random batches, and the loss and gradients of one batch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "viva/nn/classifier.h"
#include "viva/optim/layout.h"
#include "viva/tensor/random.h"

namespace viva::test {

// Inputs (n, sample…) uniform in [0, 1), targets (n) one of the classes.
template <typename T>
data::Batch random_batch(std::int64_t n, Shape sample, std::int64_t classes, std::uint64_t seed) {
  const RandomStream random(seed, RandomPurpose::kInitialize, 99);
  sample.insert(sample.begin(), n);
  data::Batch batch{Tensor::zeros(sample, dtype_of<T>), Tensor::zeros({n}, Dtype::kInt32)};
  std::uint64_t element = 0;
  for (T& x : batch.inputs.mutable_values<T>()) x = static_cast<T>(random.uniform(element++));
  for (std::int32_t& y : batch.targets.mutable_values<std::int32_t>()) {
    y = static_cast<std::int32_t>(random.below(element++, static_cast<std::uint64_t>(classes)));
  }
  return batch;
}

struct LossGradients {
  double loss = 0;
  std::vector<Tensor> grads;  // in the parameters' order
};

// `compute_grads` is a callback of the full form that gives every parameter a gradient.
template <typename F>
LossGradients gradients_of(F compute_grads, const data::Batch& batch, std::span<const Param> params) {
  const optim::Layout layout(params);
  const Tensor buffer = layout.make_buffer();
  GradSink sink(layout, buffer);
  Arena arena;
  const StepContext context{.arena = arena};
  LossGradients result{compute_grads(context, batch, params, sink), {}};
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (!sink.given(i)) throw DimensionError("no gradient for '" + params[i].name + "'");
    result.grads.push_back(layout.view(buffer, i));
  }
  return result;
}

}  // namespace viva::test
