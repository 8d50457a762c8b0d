// Causal self-attention (Vaswani et al., "Attention is all you need", 2017): each place of a sequence takes a weighted
// mean of the values at it and before it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "viva/tensor/arena.h"

namespace viva {

struct AttentionShape {
  std::int64_t batch = 0, length = 0, heads = 1, head_size = 1;
  std::int64_t channels() const { return heads * head_size; }
};

// qkv is (batch, length, 3·channels): queries, keys and values, each of them (heads, head_size). out is (batch, length,
// channels). weights is (batch, heads, length, length): softmax of the queries' products with the keys over √head_size,
// with zeros for keys that come later. Call within a KernelScope; scratch memory comes from `arena`; T is float or
// double.
template <typename T>
void causal_attention_forward(const AttentionShape& shape, const T* qkv, std::type_identity_t<T>* weights,
                              std::type_identity_t<T>* out, Arena& arena);

// Overwrites dqkv.
template <typename T>
void causal_attention_backward(const AttentionShape& shape, const T* qkv, const std::type_identity_t<T>* weights,
                               const std::type_identity_t<T>* dout, std::type_identity_t<T>* dqkv, Arena& arena);

}  // namespace viva
