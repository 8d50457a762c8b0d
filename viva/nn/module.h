// Module: a part of a model, which declares its parameters once and then computes with them, whoever holds their
// values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "viva/autograd/params.h"
#include "viva/nn/initializer.h"

namespace viva::nn {

using autograd::Params;
using autograd::Variable;

class Module;

// A parameter as a model declares it; its place in the model's list is its number in Params.
struct ParamSpec {
  std::string name;
  Shape shape;
  Initializer initializer;
  ParamRole role = ParamRole::kTrained;
};

// Collects what the modules of one model declare.
class Declarations {
 public:
  // The parameter's number. Its name is `name` behind those of the modules around it: "blocks.0.attention.weight".
  std::size_t parameter(std::string_view name, Shape shape, const Initializer& initializer);
  // The same for running statistics, which no optimizer touches.
  std::size_t buffer(std::string_view name, Shape shape, const Initializer& initializer);
  // Declares what `module` holds.
  void child(std::string_view name, Module& module);
  // A number of its own for a module that draws random numbers.
  std::uint32_t random_source() { return random_sources_++; }
  // The name of the module that is declaring.
  const std::string& path() const { return path_; }

  std::vector<ParamSpec> take() { return std::move(specs_); }

 private:
  std::size_t add(ParamSpec spec);

  std::string path_;
  std::vector<ParamSpec> specs_;
  std::uint32_t random_sources_ = 0;
};

// Immutable once it has been declared: forward() may run on many threads at once. Whether it trains or evaluates is
// params.training(), a property of the step.
class Module {
 public:
  virtual ~Module() = default;
  // Called once, by the model that the module becomes a part of.
  virtual void declare(Declarations& declarations) = 0;
  virtual Variable forward(const Params& params, const Variable& x) const = 0;
  // Takes over the work of the module that follows, or of the one before, where that saves a pass over memory; false
  // where it can't. Called once all have been declared.
  virtual bool absorb_next(const Module&) { return false; }
  virtual bool absorb_previous(const Module&) { return false; }
  // Whether forward() takes images in blocks of channels (viva/autograd/convolution.h), and that the next module does.
  virtual bool reads_channel_blocks() const { return false; }
  virtual void may_give_channel_blocks() {}
};

}  // namespace viva::nn
