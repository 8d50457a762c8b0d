// Layers: linear maps, functions of each element, reshaping, dropout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "viva/autograd/matmul.h"
#include "viva/nn/module.h"

namespace viva::nn {

struct LinearOptions {
  bool bias = true;
  // The first values; without them uniform in ±1/√in, PyTorch's default.
  std::optional<Initializer> weight = std::nullopt, bias_values = std::nullopt;
};

// The shape with another last axis, for messages about layers that care only for that.
Shape with_last_axis(Shape shape, std::int64_t length);

// (…, in) → (…, out) with weight (out, in) and bias (out).
// InvalidShape for a size below 1; ShapeMismatch naming the layer.
class Linear final : public Module {
 public:
  Linear(std::int64_t in, std::int64_t out, LinearOptions options = {});
  void declare(Declarations& declarations) override;
  Variable forward(const Params& params, const Variable& x) const override;
  bool absorb_next(const Module& next) override;

 private:
  std::int64_t in_, out_;
  LinearOptions options_;
  autograd::Activation activation_ = autograd::Activation::kNone;
  std::string name_;
  std::size_t weight_ = 0, bias_ = 0;
};

// A neighbour in a Sequential may do its work.
class Relu final : public Module {
 public:
  void declare(Declarations&) override {}
  Variable forward(const Params& params, const Variable& x) const override;
};

// A function of each element, or of each row, without parameters.
class Function final : public Module {
 public:
  explicit Function(Variable (*function)(const Variable&)) : function_(function) {}
  void declare(Declarations&) override {}
  Variable forward(const Params&, const Variable& x) const override { return function_(x); }

 private:
  Variable (*function_)(const Variable&);
};

Function Gelu();
Function Silu();
Function Tanh();
Function Sigmoid();
// (n, …) → (n, product of the rest).
Function Flatten();

// While training, each element becomes zero with this probability and is divided by the rest's otherwise. What is
// dropped is a function of seed, layer, batch number and element: the same on any executors. ConfigError for a
// probability outside [0, 1).
class Dropout final : public Module {
 public:
  explicit Dropout(double probability);
  void declare(Declarations& declarations) override { source_ = declarations.random_source(); }
  Variable forward(const Params& params, const Variable& x) const override;

 private:
  double probability_;
  std::uint32_t source_ = 0;
};

}  // namespace viva::nn
