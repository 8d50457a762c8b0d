#include "viva/nn/classifier.h"

#include <algorithm>

#include "viva/tensor/kernel_scope.h"

namespace viva::nn {

Tensor outputs(const Model& model, std::span<const Param> params, const Tensor& inputs, Arena& arena) {
  const KernelScope scope;
  const StepContext context{.mode = Mode::kEvaluation, .arena = arena};
  autograd::Tape tape(arena, nullptr);
  return model(Params(tape, context, params), inputs).value();
}

Judgement judge(const Model& model, std::span<const Param> params, const data::Batch& batch, Arena& arena) {
  const KernelScope scope;
  const Tensor logits = outputs(model, params, batch.inputs, arena);
  Shape expected = logits.shape();
  if (!expected.empty()) expected.pop_back();
  if (logits.rank() == 0 || batch.targets.shape() != expected) {
    throw ShapeMismatch("the batch's targets", expected, batch.targets.shape());
  }
  const auto labels = batch.targets.values<std::int32_t>();
  const std::int64_t classes = logits.shape().back();
  Judgement judgement{.targets = batch.targets.size()};
  visit_floating(logits.dtype(), "judge", [&](auto type) {
    using T = decltype(type);
    const T* row = logits.values<T>().data();
    judgement.total_loss = softmax_cross_entropy<T>(row, labels, classes, nullptr, T{1}, arena);
    for (const std::int32_t label : labels) {
      judgement.correct += std::max_element(row, row + classes) - row == label ? 1 : 0;
      row += classes;
    }
  });
  return judgement;
}

}  // namespace viva::nn
