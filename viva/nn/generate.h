// Text, or any sequence of tokens, drawn from a language model.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "viva/nn/model.h"

namespace viva::nn {

struct GenerateOptions {
  std::int64_t count = 0;        // tokens to draw
  std::int64_t context = 1;      // the most tokens that the model looks at
  double temperature = 1;        // logits are divided by it; 0 takes the likeliest token
  std::int64_t most_likely = 0;  // draw from so many of the likeliest tokens only; 0: from all
  std::uint64_t seed = 0;
};

// The tokens that follow `prompt`, which has at least one. The model takes tokens (1, length) and gives logits
// (1, length, vocabulary). A function of its arguments alone. DimensionError for an empty prompt; ConfigError for a
// temperature that is negative or not finite.
std::vector<std::int32_t> generate(const Model& model, std::span<const Param> params,
                                   std::span<const std::int32_t> prompt, const GenerateOptions& options);

}  // namespace viva::nn
