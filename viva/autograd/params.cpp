#include "viva/autograd/params.h"

#include <memory>
#include <string>

namespace viva::autograd {

Params::Params(Tape& tape, const StepContext& context, std::span<const Param> params)
    : tape_(&tape), context_(&context), params_(params), variables_(tape.arena().allocate<Variable>(params.size())) {
  for (std::size_t i = 0; i < params.size(); ++i) {
    std::construct_at(&variables_[i], tape.parameter(params[i].value, i));
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

}  // namespace viva::autograd
