// value_and_grad: from a loss function to the callback that trainers take.
#pragma once

#include <concepts>
#include <span>
#include <utility>

#include "viva/autograd/params.h"
#include "viva/data/dataset.h"
#include "viva/optim/grad_sink.h"
#include "viva/tensor/kernel_scope.h"

namespace viva::autograd {

// Parameters that the loss does not depend on.
enum class Unreached { kError, kZero };

struct GradOptions {
  Unreached unreached = Unreached::kError;
  Precision precision = Precision::kF32;
};

// Computes the gradients of `loss` into the sink and returns its value; what the options say of parameters that it does
// not reach: DimensionError naming the first of them, or gradients of zero.
double backward(const Params& params, const Variable& loss, GradSink& sink, const GradOptions& options);

// `loss(batch, params)` computes a single number from a batch and autograd::Params by the operations of viva/autograd
// and viva/nn; it may be called from many threads at once. The result is a ComputeGrads callback: the loss and its
// gradients, written straight into the flat gradient buffer. All memory comes from the step's arena, so that a steady
// step allocates nothing.
template <typename Loss>
requires std::is_invocable_r_v<Variable, const Loss&, const data::Batch&, const Params&>
auto value_and_grad(Loss loss, GradOptions options = {}) {
  return [loss = std::move(loss), options](const StepContext& context, const data::Batch& batch,
                                           std::span<const Param> values, GradSink& sink) {
    const KernelScope scope;
    Tape tape(context.arena, &sink, options.precision);
    const Params params(tape, context, values);
    return backward(params, loss(batch, params), sink, options);
  };
}

}  // namespace viva::autograd
