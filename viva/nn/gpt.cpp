#include "viva/nn/gpt.h"

#include <fmt/format.h>

#include <vector>

#include "viva/autograd/pointwise.h"
#include "viva/autograd/shape.h"
#include "viva/base/error.h"
#include "viva/nn/sequence_layers.h"

namespace viva::nn {
namespace {

constexpr double kDeviation = 0.02;

TransformerOptions transformer_options(const GptOptions& options) {
  return {options.channels, options.heads, options.dropout, kDeviation, options.layers};
}

// Without bias, its weights as the embeddings'.
Linear head_of(const GptOptions& options) {
  LinearOptions linear;
  linear.bias = false;
  linear.weight = normal(kDeviation);
  return {options.channels, options.vocabulary, linear};
}

class Gpt final : public Module {
 public:
  explicit Gpt(const GptOptions& options)
      : context_(options.context),
        tokens_(options.vocabulary, options.channels, kDeviation),
        places_(options.context, options.channels, kDeviation),
        dropout_(options.dropout),
        blocks_(static_cast<std::size_t>(options.layers), GptBlock(transformer_options(options))),
        norm_(options.channels),
        head_(head_of(options)) {}

  void declare(Declarations& declarations) override {
    declarations.child("token_embedding", tokens_);
    declarations.child("position_embedding", places_);
    declarations.child("dropout", dropout_);
    for (std::size_t i = 0; i < blocks_.size(); ++i) declarations.child(fmt::format("blocks.{}", i), blocks_[i]);
    declarations.child("norm", norm_);
    declarations.child("head", head_);
  }

  Variable forward(const Params& params, const Variable& x) const override {
    if (x.rank() != 2 || x.shape()[1] > context_) {
      throw ShapeMismatch(fmt::format("gpt: tokens (batch, length) of a length up to the context {}", context_),
                          {-1, context_}, x.shape());
    }
    const std::int64_t length = x.shape()[1];
    const Tensor numbers = params.tape().allocate({length}, Dtype::kInt32);
    std::int32_t number = 0;
    for (std::int32_t& place : numbers.mutable_values<std::int32_t>()) place = number++;
    const Variable places = places_.forward(params, params.constant(numbers));
    Variable y = dropout_.forward(params, tokens_.forward(params, x) + places);
    for (const GptBlock& block : blocks_) y = block.forward(params, y);
    return head_.forward(params, norm_.forward(params, y));
  }

 private:
  std::int64_t context_;
  Embedding tokens_, places_;
  Dropout dropout_;
  std::vector<GptBlock> blocks_;
  LayerNorm norm_;
  Linear head_;
};

}  // namespace

Model gpt(const GptOptions& options) {
  if (options.context < 1 || options.layers < 0 || options.layers > 1000) {
    throw InvalidShape(fmt::format("gpt: expected a context of at least 1 and 0 to 1000 layers, got {} and {}",
                                   options.context, options.layers));
  }
  return Model(Gpt(options));
}

}  // namespace viva::nn
