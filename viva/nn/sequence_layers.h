// Layers over sequences: embeddings, normalisation, attention, and the blocks made of them.
#pragma once

#include <cstdint>
#include <string>

#include "viva/nn/layers.h"
#include "viva/nn/module.h"

namespace viva::nn {

// Numbers (…) int32 → (…, width) with weight (count, width), normal with the given deviation at first.
// IndexOutOfBounds naming the layer and the sample for a number outside.
class Embedding final : public Module {
 public:
  Embedding(std::int64_t count, std::int64_t width, double deviation = 1);
  void declare(Declarations& declarations) override;
  Variable forward(const Params& params, const Variable& x) const override;

 private:
  std::int64_t count_, width_;
  double deviation_;
  std::string where_;
  std::size_t weight_ = 0;
};

// (…, width) → (…, width): each row with mean 0 and variance 1, times weight (width, ones at first), plus bias (width,
// zeros). ShapeMismatch naming the layer.
class LayerNorm final : public Module {
 public:
  explicit LayerNorm(std::int64_t width, double eps = 1e-5);
  void declare(Declarations& declarations) override;
  Variable forward(const Params& params, const Variable& x) const override;

 private:
  std::int64_t width_;
  double eps_;
  std::string name_;
  std::size_t weight_ = 0, bias_ = 0;
};

struct TransformerOptions {
  std::int64_t channels = 128, heads = 4;
  double dropout = 0;       // of what a block adds to the stream
  double deviation = 0.02;  // of the first weights; 0: as Linear's
  std::int64_t layers = 1;  // of the whole model: what a block adds is smaller by √(2·layers) at first
};

// (batch, length, channels) → the same, through "qkv" (3·channels, channels) and "out" (channels, channels), linear
// layers with biases. InvalidShape where the heads do not divide the channels; ShapeMismatch naming the layer.
class CausalSelfAttention final : public Module {
 public:
  explicit CausalSelfAttention(const TransformerOptions& options);
  void declare(Declarations& declarations) override;
  Variable forward(const Params& params, const Variable& x) const override;

 private:
  std::int64_t heads_;
  Linear qkv_, out_;
};

// x + attention(norm1(x)), then x + contract(gelu(expand(norm2(x)))), with a hidden width of 4·channels: a block of
// GPT-2 (Radford et al., 2019).
class GptBlock final : public Module {
 public:
  explicit GptBlock(const TransformerOptions& options);
  void declare(Declarations& declarations) override;
  Variable forward(const Params& params, const Variable& x) const override;

 private:
  LayerNorm norm1_, norm2_;
  CausalSelfAttention attention_;
  Linear expand_, contract_;
  Dropout dropout1_, dropout2_;
};

}  // namespace viva::nn
