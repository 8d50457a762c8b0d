// Tensors of reproducible random numbers.
#pragma once

#include <cstdint>

#include "viva/tensor/random.h"
#include "viva/tensor/tensor.h"

namespace viva::autograd {

// Uniform in [low, high).
inline Tensor random_tensor(const Shape& shape, std::uint64_t seed, double low = -2, double high = 2,
                            Dtype dtype = Dtype::kFloat64) {
  const Tensor tensor = Tensor::zeros(shape, dtype);
  const RandomStream random(seed, RandomPurpose::kInitialize, 0);
  visit_floating(dtype, "random_tensor", [&](auto type) {
    std::uint64_t element = 0;
    for (auto& x : tensor.mutable_values<decltype(type)>()) {
      x = static_cast<decltype(type)>(low + (high - low) * random.uniform(element++));
    }
  });
  return tensor;
}

}  // namespace viva::autograd
