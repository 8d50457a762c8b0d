// What a classifier learns from and is judged by.
#pragma once

#include <cstdint>
#include <span>

#include "viva/autograd/softmax.h"
#include "viva/autograd/value_and_grad.h"
#include "viva/nn/model.h"

namespace viva::nn {

// A ComputeGrads callback: the mean cross-entropy between the model's logits (…, classes) and the batch's classes (…).
inline auto classifier_loss(Model model, CrossEntropyOptions options = {}, autograd::GradOptions grad_options = {}) {
  return autograd::value_and_grad(
      [model = std::move(model), options](const data::Batch& batch, const Params& params) {
        return autograd::cross_entropy(model(params, batch.inputs), batch.targets, options);
      },
      grad_options);
}

struct Judgement {
  double total_loss = 0;  // the cross-entropy, summed over the targets
  std::int64_t correct = 0;
  std::int64_t targets = 0;
};

// The model's output in evaluation mode, in memory of `arena`.
Tensor outputs(const Model& model, std::span<const Param> params, const Tensor& inputs, Arena& arena);

// How the model does on one batch in evaluation mode, in memory of `arena`.
Judgement judge(const Model& model, std::span<const Param> params, const data::Batch& batch, Arena& arena);

}  // namespace viva::nn
