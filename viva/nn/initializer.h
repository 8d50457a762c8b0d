// How a parameter's first values are drawn.
#pragma once

#include <cstdint>

#include "viva/tensor/tensor.h"

namespace viva::nn {

// A distribution of initial values: mean 0 for the random ones.
struct Initializer {
  enum class Kind { kConstant, kUniform, kNormal };
  Kind kind = Kind::kConstant;
  double scale = 0;  // the constant, the bound of a uniform distribution, or the standard deviation
};

Initializer constant(double value);
Initializer zeros();
Initializer ones();
Initializer uniform(double bound);
Initializer normal(double deviation);

// For a weight (out, in, …), whose fan is the number of its terms in a sum: fan_in of an output's, fan_out of an
// input's. Sources: Glorot, Bengio (2010) for Xavier; He, Zhang, Ren, Sun (2015) for Kaiming, with the gain of ReLU.
// InvalidShape for a shape of fewer than two axes.
Initializer xavier_uniform(const Shape& weight);
Initializer xavier_normal(const Shape& weight);
Initializer kaiming_uniform(const Shape& weight);
Initializer kaiming_normal(const Shape& weight);

// The values are a pure function of the seed, the parameter's number in its model and the element's place.
void initialize(const Tensor& tensor, const Initializer& initializer, std::uint64_t seed, std::uint32_t number);

}  // namespace viva::nn
