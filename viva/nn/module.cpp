#include "viva/nn/module.h"

#include <utility>

namespace viva::nn {
namespace {

std::string joined(const std::string& path, std::string_view name) {
  if (path.empty()) return std::string(name);
  return name.empty() ? path : path + "." + std::string(name);
}

}  // namespace

std::size_t Declarations::parameter(std::string_view name, Shape shape, const Initializer& initializer) {
  return add({joined(path_, name), std::move(shape), initializer});
}

std::size_t Declarations::buffer(std::string_view name, Shape shape, const Initializer& initializer) {
  return add({joined(path_, name), std::move(shape), initializer, ParamRole::kBuffer});
}

std::size_t Declarations::add(ParamSpec spec) {
  specs_.push_back(std::move(spec));
  return specs_.size() - 1;
}

void Declarations::child(std::string_view name, Module& module) {
  const std::string outer = std::exchange(path_, joined(path_, name));
  module.declare(*this);
  path_ = outer;
}

}  // namespace viva::nn
