#include "viva/nn/model.h"

#include <fmt/format.h>

#include "viva/base/error.h"
#include "viva/tensor/kernel_scope.h"

namespace viva::nn {

void Model::own(std::shared_ptr<Module> root) {
  Declarations declarations;
  declarations.child("", *root);
  specs_ = std::make_shared<const std::vector<ParamSpec>>(declarations.take());
  root_ = std::move(root);
}

Variable Model::operator()(const Params& params, const Variable& x) const {
  const std::vector<ParamSpec>& specs = *specs_;
  if (params.size() != specs.size()) {
    throw DimensionError(fmt::format("the model has {} parameters, got {}", specs.size(), params.size()));
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (params[i].shape() != specs[i].shape) {
      throw ShapeMismatch("parameter '" + specs[i].name + "'", specs[i].shape, params[i].shape());
    }
  }
  return root_->forward(params, x);
}

std::vector<Param> Model::initial_params(std::uint64_t seed, Dtype dtype) const {
  const KernelScope scope;
  std::vector<Param> params;
  for (const ParamSpec& spec : *specs_) {
    params.push_back({spec.name, Tensor::zeros(spec.shape, dtype), spec.role});
    initialize(params.back().value, spec.initializer, seed, static_cast<std::uint32_t>(params.size() - 1));
  }
  return params;
}

}  // namespace viva::nn
