// ComputeGrads: the user's callback, which computes a batch's loss and gradients.
#pragma once

#include <concepts>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

#include "viva/data/dataset.h"
#include "viva/data/step_context.h"
#include "viva/optim/grad_sink.h"

namespace viva::distributed {

// What the simple form returns: the batch's mean loss, and gradients in any order.
struct LossAndGrads {
  double loss = 0;
  std::vector<GradPair> grads;
};

// Holds a callable of either form:
//   LossAndGrads(const Batch&, std::span<const Param>)                              the simple one, or
//   double(const StepContext&, const Batch&, std::span<const Param>, GradSink&)     the full one, without a copy.
// It may be called from many threads at once, with parameters that all of them share and none may write. It runs with
// the pinned floating-point settings of KernelScope. What it throws ends training as WorkerFailed; sink.request_stop()
// ends it in order.
class ComputeGrads {
 public:
  using Full = std::function<double(const StepContext&, const data::Batch&, std::span<const Param>, GradSink&)>;

  template <typename F>
  requires(!std::same_as<std::remove_cvref_t<F>, ComputeGrads> &&
           std::is_invocable_r_v<double, F&, const StepContext&, const data::Batch&, std::span<const Param>, GradSink&>)
      ComputeGrads(F callback)
      : full_(std::move(callback)) {}

  template <typename F>
  requires(!std::same_as<std::remove_cvref_t<F>, ComputeGrads> &&
           std::is_invocable_r_v<LossAndGrads, F&, const data::Batch&, std::span<const Param>>) ComputeGrads(F callback)
      : full_([callback = std::move(callback)](const StepContext&, const data::Batch& batch,
                                               std::span<const Param> params, GradSink& sink) {
          const LossAndGrads result = callback(batch, params);
          for (const GradPair& pair : result.grads) sink.set(pair.name, pair.grad);
          return result.loss;
        }) {}

  double operator()(const StepContext& context, const data::Batch& batch, std::span<const Param> params,
                    GradSink& sink) const {
    return full_(context, batch, params, sink);
  }

 private:
  Full full_;
};

}  // namespace viva::distributed
