#include "viva/nn/initializer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "viva/base/error.h"
#include "viva/tensor/random.h"

namespace viva::nn {
namespace {

struct Fans {
  double in, out;
};

Fans fans_of(const Shape& weight) {
  if (weight.size() < 2) throw InvalidShape("initializer: expected a weight (out, in, …), got " + to_string(weight));
  const double field = static_cast<double>(element_count(Shape(weight.begin() + 2, weight.end())));
  return {std::max(1.0, field * static_cast<double>(weight[1])), std::max(1.0, field * static_cast<double>(weight[0]))};
}

// The Box-Muller transform: two uniform numbers give one normal one.
double normal_of(const RandomStream& random, std::uint64_t element) {
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform(2 * element)));
  return radius * std::cos(2 * std::numbers::pi * random.uniform(2 * element + 1));
}

double value_of(const Initializer& initializer, const RandomStream& random, std::uint64_t element) {
  switch (initializer.kind) {
    case Initializer::Kind::kConstant:
      return initializer.scale;
    case Initializer::Kind::kUniform:
      return (2 * random.uniform(element) - 1) * initializer.scale;
    case Initializer::Kind::kNormal:
      return normal_of(random, element) * initializer.scale;
  }
  return 0;
}

}  // namespace

Initializer constant(double value) { return {Initializer::Kind::kConstant, value}; }
Initializer zeros() { return constant(0); }
Initializer ones() { return constant(1); }
Initializer uniform(double bound) { return {Initializer::Kind::kUniform, bound}; }
Initializer normal(double deviation) { return {Initializer::Kind::kNormal, deviation}; }

Initializer xavier_uniform(const Shape& weight) {
  const Fans fans = fans_of(weight);
  return uniform(std::sqrt(6 / (fans.in + fans.out)));
}
Initializer xavier_normal(const Shape& weight) {
  const Fans fans = fans_of(weight);
  return normal(std::sqrt(2 / (fans.in + fans.out)));
}
Initializer kaiming_uniform(const Shape& weight) { return uniform(std::sqrt(6 / fans_of(weight).in)); }
Initializer kaiming_normal(const Shape& weight) { return normal(std::sqrt(2 / fans_of(weight).in)); }

void initialize(const Tensor& tensor, const Initializer& initializer, std::uint64_t seed, std::uint32_t number) {
  const RandomStream random(seed, RandomPurpose::kInitialize, number);
  visit_floating(tensor.dtype(), "initialize", [&](auto type) {
    std::uint64_t element = 0;
    for (auto& x : tensor.mutable_values<decltype(type)>()) {
      x = static_cast<decltype(type)>(value_of(initializer, random, element++));
    }
  });
}

}  // namespace viva::nn
