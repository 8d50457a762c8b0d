#include "viva/autograd/params.h"

#include <memory>
#include <string>

#include "viva/autograd/pointwise_kernels.h"

namespace viva::autograd {

Params::Params(Tape& tape, const StepContext& context, std::span<const Param> params)
    : tape_(&tape), context_(&context), params_(params), variables_(tape.arena().allocate<Variable>(params.size())) {
  for (std::size_t i = 0; i < params.size(); ++i) {
    const bool trained = params[i].role == ParamRole::kTrained;
    std::construct_at(&variables_[i], trained ? tape.parameter(params[i].value, i) : tape.constant(params[i].value));
  }
}

const Variable& Params::operator[](std::size_t i) const {
  if (i >= variables_.size()) {
    throw IndexOutOfBounds("parameter", static_cast<std::int64_t>(i), static_cast<std::int64_t>(variables_.size()));
  }
  return variables_[i];
}

const Variable& Params::operator[](std::string_view name) const {
  for (std::size_t i = 0; i < params_.size(); ++i) {
    if (params_[i].name == name) return variables_[i];
  }
  throw DimensionError("there is no parameter '" + std::string(name) + "'", std::string(name));
}

void Params::give_statistic(std::size_t i, const Tensor& statistic) const {
  GradSink* const sink = tape_->sink();
  if (sink == nullptr) return;
  const Tensor& place = sink->grad(i);
  if (statistic.shape() != place.shape()) throw ShapeMismatch(params_[i].name, place.shape(), statistic.shape());
  copy(statistic, place);
}

}  // namespace viva::autograd
