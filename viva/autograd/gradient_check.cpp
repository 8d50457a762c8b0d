#include "viva/autograd/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "viva/autograd/pointwise.h"
#include "viva/autograd/reduce.h"
#include "viva/optim/layout.h"
#include "viva/tensor/kernel_scope.h"
#include "viva/tensor/random.h"

namespace viva::autograd {
namespace {

using Function = std::function<Variable(Tape&, std::span<const Variable>)>;

// Weights from 0.5 to 1.5: no two elements' errors can cancel for long.
Variable weighted_sum(const Variable& y) {
  const Tensor weights = Tensor::zeros(y.shape(), Dtype::kFloat64);
  const RandomStream random(1, RandomPurpose::kInitialize, 0);
  std::uint64_t element = 0;
  for (double& weight : weights.mutable_values<double>()) weight = 0.5 + random.uniform(element++);
  return sum(y * y.tape().constant(weights));
}

double value_at(const Function& f, const std::vector<Tensor>& inputs) {
  Arena arena;
  Tape tape(arena, nullptr);
  std::vector<Variable> variables;
  for (const Tensor& input : inputs) variables.push_back(tape.constant(input));
  return weighted_sum(f(tape, variables)).value().item();
}

}  // namespace

GradientCheck check_gradient(const Function& f, const std::vector<Tensor>& inputs, double epsilon) {
  const KernelScope scope;
  std::vector<Param> params;
  for (const Tensor& input : inputs) params.push_back({"input " + std::to_string(params.size()), input.clone()});
  const optim::Layout layout(params);
  const Tensor buffer = layout.make_buffer();
  GradSink sink(layout, buffer);
  {
    Arena arena;
    Tape tape(arena, &sink);
    std::vector<Variable> variables;
    for (std::size_t i = 0; i < params.size(); ++i) variables.push_back(tape.parameter(params[i].value, i));
    tape.backward(weighted_sum(f(tape, variables)));
  }

  GradientCheck result;
  std::vector<Tensor> moved;
  for (const Param& param : params) moved.push_back(param.value);
  for (std::size_t i = 0; i < params.size(); ++i) {
    const Tensor gradient = layout.view(buffer, i);  // zero where it was not given
    const auto values = moved[i].mutable_values<double>();
    for (std::size_t j = 0; j < values.size(); ++j) {
      const double here = values[j];
      values[j] = here + epsilon;
      const double above = value_at(f, moved);
      values[j] = here - epsilon;
      const double below = value_at(f, moved);
      values[j] = here;
      const double difference = (above - below) / (2 * epsilon), computed = gradient.values<double>()[j];
      const double error = std::abs(computed - difference) / std::max({1.0, std::abs(computed), std::abs(difference)});
      if (!(error <= result.largest_error)) result = {error, i, static_cast<std::int64_t>(j)};
    }
  }
  return result;
}

}  // namespace viva::autograd
