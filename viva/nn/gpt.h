// The reference model "gpt".
#pragma once

#include <cstdint>

#include "viva/nn/model.h"

namespace viva::nn {

struct GptOptions {
  std::int64_t vocabulary = 65;  // tokens
  std::int64_t context = 64;     // the longest sequence
  std::int64_t layers = 4, heads = 4, channels = 128;
  double dropout = 0;
};

// A language model in the manner of GPT-2 (Radford et al., 2019): tokens (batch, length) int32 → logits (batch, length,
// vocabulary) for the token after each. Embeddings of tokens and places, blocks, a last normalisation, a linear head
// without bias. Parameters "token_embedding.weight", "position_embedding.weight", "blocks.0.norm1.weight",
// "blocks.0.attention.qkv.weight", …, "norm.weight", "head.weight". InvalidShape for sizes that fit nothing;
// ShapeMismatch for a sequence longer than the context.
Model gpt(const GptOptions& options);

}  // namespace viva::nn
