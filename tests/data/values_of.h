#pragma once

#include <vector>

#include "viva/tensor/tensor.h"

namespace viva::data {

template <typename T>
std::vector<T> values_of(const Tensor& tensor) {
  const auto values = tensor.values<T>();
  return {values.begin(), values.end()};
}

}  // namespace viva::data
