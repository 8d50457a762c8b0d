// Cases that PyTorch has computed, and viva's results for them: see tests/autograd/fixtures/make_operation_fixture.py.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "viva/autograd/params.h"
#include "viva/autograd/pointwise.h"
#include "viva/autograd/reduce.h"
#include "viva/io/safetensors.h"
#include "viva/optim/layout.h"
#include "viva/tensor/kernel_scope.h"

namespace viva::test {

struct TorchCase {
  std::map<int, Tensor> operands, gradients;
  Tensor value;
};

// The cases of the fixture by name: layers, whose names begin with "layer: ", or operations.
inline std::map<std::string, TorchCase> torch_cases(bool layers) {
  std::map<std::string, TorchCase> cases;
  for (const Param& tensor : io::read_safetensors(VIVA_TESTS_DIRECTORY "/autograd/fixtures/operations.safetensors")) {
    if (tensor.name.starts_with("layer: ") != layers) continue;
    const std::size_t name = tensor.name.find('/'), last = tensor.name.rfind('/');
    TorchCase& c = cases[tensor.name.substr(0, name)];
    const std::string what = tensor.name.substr(last + 1);
    if (what == "value") {
      c.value = tensor.value;
    } else {
      (last == name ? c.operands : c.gradients)[std::stoi(what)] = tensor.value;
    }
  }
  return cases;
}

// Operands in their order: those with floats as parameters 0, 1, …, the others behind them as constants.
using Expression = std::function<autograd::Variable(const autograd::Params&, const std::vector<autograd::Variable>&)>;

// The largest |got - expected| / max(1, |expected|); infinity for another shape and where there is a NaN.
inline double largest_error(const Tensor& got, const Tensor& expected) {
  if (got.shape() != expected.shape()) return INFINITY;
  const Tensor wide = got.to(Dtype::kFloat64);
  double largest = 0;
  for (std::size_t i = 0; i < wide.values<double>().size(); ++i) {
    const double e = expected.values<double>()[i];
    const double error = std::abs(wide.values<double>()[i] - e) / std::max(1.0, std::abs(e));
    largest = std::isnan(error) ? INFINITY : std::max(largest, error);
  }
  return largest;
}

// The larger of the value's and the gradients' errors.
inline double error_of(const TorchCase& c, const Expression& expression, Dtype dtype) {
  const KernelScope scope;
  std::vector<Param> params;
  for (const auto& [number, operand] : c.operands) {
    if (operand.dtype() == Dtype::kFloat32) params.push_back({std::to_string(number), operand.to(dtype)});
  }
  const optim::Layout layout(params);
  const Tensor buffer = layout.make_buffer();
  GradSink sink(layout, buffer);
  Arena arena;
  autograd::Tape tape(arena, &sink);
  const StepContext context{.arena = arena};
  const autograd::Params bound(tape, context, params);
  std::vector<autograd::Variable> operands;
  std::size_t next = 0;
  for (const auto& [number, operand] : c.operands) {
    operands.push_back(operand.dtype() == Dtype::kFloat32 ? bound[next++] : tape.constant(operand));
  }
  const autograd::Variable value = expression(bound, operands);
  const Tensor weights = Tensor::zeros(value.shape(), dtype);
  visit_floating(dtype, "error_of", [&](auto type) {
    int element = 0;
    for (auto& weight : weights.mutable_values<decltype(type)>()) {
      weight = static_cast<decltype(type)>(0.25 + 7 * element++ % 11 / 8.0);
    }
  });
  double error = largest_error(value.value(), c.value);
  tape.backward(autograd::sum(value * tape.constant(weights)));
  for (const auto& [number, gradient] : c.gradients) {
    const auto param = std::ranges::find(params, std::to_string(number), &Param::name) - params.begin();
    error = std::max(error, largest_error(layout.view(buffer, static_cast<std::size_t>(param)), gradient));
  }
  return error;
}

// Every case has an expression and every expression a case; they agree in both types.
inline void expect_torch(const std::map<std::string, TorchCase>& cases,
                         const std::map<std::string, Expression>& expressions) {
  std::set<std::string> names;
  for (const auto& [name, c] : cases) names.insert(name);
  double largest32 = 0, largest64 = 0;
  for (const auto& [name, expression] : expressions) {
    if (names.erase(name) == 0) {
      ADD_FAILURE() << "the fixture has no case '" << name << "'";
      continue;
    }
    const double error32 = error_of(cases.at(name), expression, Dtype::kFloat32);
    const double error64 = error_of(cases.at(name), expression, Dtype::kFloat64);
    EXPECT_LE(error32, 1e-5) << name << " in float32";
    EXPECT_LE(error64, 1e-13) << name << " in float64";
    largest32 = std::max(largest32, error32);
    largest64 = std::max(largest64, error64);
  }
  for (const std::string& name : names) ADD_FAILURE() << "no expression for case '" << name << "'";
  std::cout << "largest error of " << expressions.size() << " cases: " << largest32 << " in float32, " << largest64
            << " in float64\n";
}

}  // namespace viva::test
