#include "viva/nn/sequence_layers.h"

#include <fmt/format.h>

#include <cmath>

#include "viva/autograd/attention.h"
#include "viva/autograd/embedding.h"
#include "viva/autograd/layer_norm.h"
#include "viva/autograd/pointwise.h"
#include "viva/base/error.h"

namespace viva::nn {
namespace {

// A linear layer whose weights are normal and whose biases are zero at first.
Linear linear_of(std::int64_t in, std::int64_t out, double deviation) {
  LinearOptions options;
  if (deviation > 0) {
    options.weight = normal(deviation);
    options.bias_values = zeros();
  }
  return {in, out, options};
}

double residual_deviation(const TransformerOptions& options) {
  return options.deviation / std::sqrt(2.0 * static_cast<double>(options.layers));
}

}  // namespace

Embedding::Embedding(std::int64_t count, std::int64_t width, double deviation)
    : count_(count), width_(width), deviation_(deviation) {
  if (count < 1 || width < 1) {
    throw InvalidShape(fmt::format("Embedding: expected sizes of at least 1, got {} and {}", count, width));
  }
}

void Embedding::declare(Declarations& declarations) {
  where_ = fmt::format("layer '{}' (Embedding)", declarations.path());
  weight_ = declarations.parameter("weight", {count_, width_}, normal(deviation_));
}

Variable Embedding::forward(const Params& params, const Variable& x) const {
  if (x.dtype() != Dtype::kInt32) {
    throw DtypeError(fmt::format("{}: expected int32, got {}", where_, name_of(x.dtype())));
  }
  return autograd::embedding(params[weight_], x.value(), where_);
}

LayerNorm::LayerNorm(std::int64_t width, double eps) : width_(width), eps_(eps) {
  if (width < 1) throw InvalidShape(fmt::format("LayerNorm: expected a width of at least 1, got {}", width));
}

void LayerNorm::declare(Declarations& declarations) {
  name_ = declarations.path();
  weight_ = declarations.parameter("weight", {width_}, ones());
  bias_ = declarations.parameter("bias", {width_}, zeros());
}

Variable LayerNorm::forward(const Params& params, const Variable& x) const {
  if (x.rank() == 0 || x.shape().back() != width_) {
    throw ShapeMismatch(fmt::format("layer '{}' (LayerNorm): input, whose last axis is the layer's", name_),
                        with_last_axis(x.shape(), width_), x.shape());
  }
  return autograd::layer_norm(x, params[weight_], params[bias_], eps_);
}

CausalSelfAttention::CausalSelfAttention(const TransformerOptions& options)
    : heads_(options.heads),
      qkv_(linear_of(options.channels, 3 * options.channels, options.deviation)),
      out_(linear_of(options.channels, options.channels, residual_deviation(options))) {
  if (heads_ < 1 || options.channels % heads_ != 0) {
    throw InvalidShape(
        fmt::format("CausalSelfAttention: expected heads that divide {} channels, got {}", options.channels, heads_));
  }
}

void CausalSelfAttention::declare(Declarations& declarations) {
  declarations.child("qkv", qkv_);
  declarations.child("out", out_);
}

Variable CausalSelfAttention::forward(const Params& params, const Variable& x) const {
  return out_.forward(params, autograd::causal_attention(qkv_.forward(params, x), heads_));
}

GptBlock::GptBlock(const TransformerOptions& options)
    : norm1_(options.channels),
      norm2_(options.channels),
      attention_(options),
      expand_(linear_of(options.channels, 4 * options.channels, options.deviation)),
      contract_(linear_of(4 * options.channels, options.channels, residual_deviation(options))),
      dropout1_(options.dropout),
      dropout2_(options.dropout) {}

void GptBlock::declare(Declarations& declarations) {
  declarations.child("norm1", norm1_);
  declarations.child("attention", attention_);
  declarations.child("dropout1", dropout1_);
  declarations.child("norm2", norm2_);
  declarations.child("expand", expand_);
  declarations.child("contract", contract_);
  declarations.child("dropout2", dropout2_);
}

Variable GptBlock::forward(const Params& params, const Variable& x) const {
  const Variable attended = attention_.forward(params, norm1_.forward(params, x));
  const Variable y = x + dropout1_.forward(params, attended);
  const Variable hidden = autograd::gelu(expand_.forward(params, norm2_.forward(params, y)));
  return y + dropout2_.forward(params, contract_.forward(params, hidden));
}

}  // namespace viva::nn
