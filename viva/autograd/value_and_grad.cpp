#include "viva/autograd/value_and_grad.h"

#include <fmt/format.h>

#include "viva/autograd/pointwise_kernels.h"

namespace viva::autograd {

double backward(const Params& params, const Variable& loss, GradSink& sink, const GradOptions& options) {
  params.tape().backward(loss);
  for (std::size_t i = 0; i < params.size(); ++i) {
    // A buffer has no gradient; its layer gives the sink a statistic, or leaves it as it is.
    if (sink.given(i) || params.role(i) == ParamRole::kBuffer) continue;
    if (options.unreached == Unreached::kError) {
      throw DimensionError(fmt::format("the loss does not depend on parameter '{}': leave it out of the parameters, or "
                                       "ask for Unreached::kZero",
                                       params.name(i)),
                           params.name(i));
    }
    fill(sink.grad(i), 0);
  }
  return loss.value().item();
}

}  // namespace viva::autograd
