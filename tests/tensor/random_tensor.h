#pragma once

#include <cstdint>

#include "viva/tensor/random.h"
#include "viva/tensor/tensor.h"

namespace viva {

// Numbers in [-1, 1) that float32 has exactly, so that both types compute with the same ones.
template <typename T>
Tensor random_tensor(std::uint64_t seed, const Shape& shape) {
  const RandomStream random(seed, RandomPurpose::kInitialize, 0);
  Tensor tensor = Tensor::zeros(shape, dtype_of<T>);
  std::uint64_t element = 0;
  for (T& x : tensor.mutable_values<T>()) x = static_cast<T>(static_cast<float>(2 * random.uniform(element++) - 1));
  return tensor;
}

}  // namespace viva
