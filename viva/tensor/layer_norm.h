// Layer normalisation (Ba, Kiros, Hinton, 2016): each row has its mean taken away and is divided by its deviation.
#pragma once

#include <cstdint>
#include <type_traits>

namespace viva {

struct LayerNormShape {
  std::int64_t rows = 0, width = 1;
  double eps = 1e-5;
};

// What the backward pass needs of the forward one: (rows) each.
template <typename T>
struct LayerNormStatistics {
  T* mean = nullptr;
  T* scale = nullptr;  // 1 / √(variance + eps); the variance is the mean of the squares
};

// out = weight·(x - mean)·scale + bias; x and out are (rows, width), weight and bias (width). Call within a
// KernelScope; T is float or double.
template <typename T>
void layer_norm_forward(const LayerNormShape& shape, const T* x, const std::type_identity_t<T>* weight,
                        const std::type_identity_t<T>* bias, std::type_identity_t<T>* out,
                        const LayerNormStatistics<std::type_identity_t<T>>& statistics);

// Overwrites dx, dweight and dbias. Rows add to the last two in their order.
template <typename T>
void layer_norm_backward(const LayerNormShape& shape, const T* x, const std::type_identity_t<T>* weight,
                         const LayerNormStatistics<std::type_identity_t<T>>& statistics,
                         const std::type_identity_t<T>* dy, std::type_identity_t<T>* dx,
                         std::type_identity_t<T>* dweight, std::type_identity_t<T>* dbias);

}  // namespace viva
