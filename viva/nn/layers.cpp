#include "viva/nn/layers.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "viva/autograd/pointwise.h"
#include "viva/autograd/shape.h"
#include "viva/base/error.h"
#include "viva/tensor/random.h"

namespace viva::nn {

Shape with_last_axis(Shape shape, std::int64_t length) {
  if (!shape.empty()) shape.pop_back();
  shape.push_back(length);
  return shape;
}

Linear::Linear(std::int64_t in, std::int64_t out, LinearOptions options) : in_(in), out_(out), options_(options) {
  if (in < 1 || out < 1)
    throw InvalidShape(fmt::format("Linear: expected sizes of at least 1, got {} and {}", in, out));
}

void Linear::declare(Declarations& declarations) {
  name_ = declarations.path();
  const Initializer initializer = uniform(1 / std::sqrt(static_cast<double>(in_)));
  weight_ = declarations.parameter("weight", {out_, in_}, options_.weight.value_or(initializer));
  if (options_.bias) bias_ = declarations.parameter("bias", {out_}, options_.bias_values.value_or(initializer));
}

Variable Linear::forward(const Params& params, const Variable& x) const {
  if (x.rank() == 0 || x.shape().back() != in_) {
    throw ShapeMismatch(fmt::format("layer '{}' (Linear): input, whose last axis is the layer's", name_),
                        with_last_axis(x.shape(), in_), x.shape());
  }
  return autograd::linear(x, params[weight_], options_.bias ? std::optional(params[bias_]) : std::nullopt, activation_);
}

bool Linear::absorb_next(const Module& next) {
  const bool relu = dynamic_cast<const Relu*>(&next) != nullptr && activation_ == autograd::Activation::kNone;
  if (relu) activation_ = autograd::Activation::kRelu;
  return relu;
}

Variable Relu::forward(const Params&, const Variable& x) const { return autograd::relu(x); }

Function Gelu() { return Function(autograd::gelu); }
Function Silu() { return Function(autograd::silu); }
Function Tanh() { return Function(autograd::tanh); }
Function Sigmoid() { return Function(autograd::sigmoid); }
Function Flatten() { return Function(autograd::flatten); }

Dropout::Dropout(double probability) : probability_(probability) {
  if (!(probability >= 0 && probability < 1)) {
    throw ConfigError({}, 0, "dropout", fmt::format("expected a probability in [0, 1), got {}", probability));
  }
}

Variable Dropout::forward(const Params& params, const Variable& x) const {
  if (!params.training() || probability_ == 0) return x;
  const StepContext& context = params.context();
  const RandomStream layer(context.seed, RandomPurpose::kDropout, source_);
  const RandomStream random(layer.bits(static_cast<std::uint64_t>(context.batch)), RandomPurpose::kDropout, 0);
  const Tensor mask = params.tape().allocate(x.shape(), x.dtype());
  visit_floating(x.dtype(), "Dropout", [&](auto type) {
    using T = decltype(type);
    const T kept = static_cast<T>(1 / (1 - probability_));
    std::uint64_t element = 0;
    for (T& factor : mask.mutable_values<T>()) factor = random.uniform(element++) < probability_ ? T{0} : kept;
  });
  return x * params.constant(mask);
}

}  // namespace viva::nn
