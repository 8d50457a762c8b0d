#include "viva/nn/batch_norm.h"

#include <fmt/format.h>

#include "viva/autograd/batch_norm.h"
#include "viva/base/error.h"

namespace viva::nn {

BatchNorm::BatchNorm(std::int64_t channels, double eps) : channels_(channels), eps_(eps) {
  if (channels < 1) throw InvalidShape(fmt::format("BatchNorm: expected at least one channel, got {}", channels));
}

void BatchNorm::declare(Declarations& declarations) {
  name_ = declarations.path();
  weight_ = declarations.parameter("weight", {channels_}, ones());
  bias_ = declarations.parameter("bias", {channels_}, zeros());
  mean_ = declarations.buffer("running_mean", {channels_}, zeros());
  variance_ = declarations.buffer("running_variance", {channels_}, ones());
}

Variable BatchNorm::forward(const Params& params, const Variable& x) const {
  if (x.rank() < 2 || x.shape()[1] != channels_) {
    throw ShapeMismatch(fmt::format("layer '{}' (BatchNorm): input (n, channels, …)", name_), {-1, channels_},
                        x.shape());
  }
  const Variable &weight = params[weight_], &bias = params[bias_];
  if (!params.training()) {
    return autograd::batch_norm_by({params[mean_].value(), params[variance_].value()}, x, weight, bias, eps_);
  }
  const Shape channels{channels_};
  const autograd::ChannelStatistics statistics{params.tape().allocate(channels, x.dtype()),
                                               params.tape().allocate(channels, x.dtype())};
  const Variable y = autograd::batch_norm(x, weight, bias, eps_, &statistics);
  params.give_statistic(mean_, statistics.mean);
  params.give_statistic(variance_, statistics.variance);
  return y;
}

}  // namespace viva::nn
