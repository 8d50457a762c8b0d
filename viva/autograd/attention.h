// Self-attention.
#pragma once

#include "viva/autograd/tape.h"

namespace viva::autograd {

// qkv (batch, length, 3·channels) holds queries, keys and values side by side, each of them `heads` times
// channels / heads numbers: (batch, length, channels). Each place attends to itself and to those before it.
// ShapeMismatch; InvalidShape where `heads` does not divide the channels.
Variable causal_attention(const Variable& qkv, std::int64_t heads);

}  // namespace viva::autograd
