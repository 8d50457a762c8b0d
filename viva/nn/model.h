// Model: a tree of modules with its parameters' names, shapes and initial values.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "viva/nn/module.h"
#include "viva/nn/sequential.h"
#include "viva/optim/param.h"

namespace viva::nn {

// Holds no parameter values: initial_params() makes some, a trainer changes them, Params brings them to each call.
// Cheap to copy; immutable, so that many threads may use it at once.
class Model {
 public:
  // The modules one after the other, or one that is the whole model.
  template <typename... Modules>
  requires(sizeof...(Modules) > 0 && (std::derived_from<Modules, Module> && ...)) explicit Model(Modules... modules) {
    if constexpr (sizeof...(Modules) == 1) {
      own(std::make_shared<std::remove_cvref_t<Modules>...>(std::move(modules)...));
    } else {
      own(std::make_shared<Sequential>(std::move(modules)...));
    }
  }

  // The model's output for x. DimensionError or ShapeMismatch where `params` are not the model's.
  Variable operator()(const Params& params, const Variable& x) const;
  Variable operator()(const Params& params, const Tensor& x) const { return (*this)(params, params.constant(x)); }

  std::span<const ParamSpec> specs() const { return *specs_; }
  std::vector<Param> initial_params(std::uint64_t seed, Dtype dtype = Dtype::kFloat32) const;

 private:
  void own(std::shared_ptr<Module> root);

  std::shared_ptr<const Module> root_;
  std::shared_ptr<const std::vector<ParamSpec>> specs_;
};

}  // namespace viva::nn
