// Every layer's values and gradients, those of its parameters included, against PyTorch's.
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "tests/torch_cases.h"
#include "viva/nn/image_layers.h"
#include "viva/nn/layers.h"
#include "viva/nn/sequence_layers.h"
#include "viva/nn/sequential.h"

namespace viva::nn {
namespace {

template <typename M>
test::Expression layer(M module) {
  const auto shared = std::make_shared<M>(std::move(module));
  Declarations declarations;
  declarations.child("", *shared);
  return [shared](const Params& params, const std::vector<Variable>& in) { return shared->forward(params, in.back()); };
}

TEST(Layers, AgreeWithPyTorch) {
  const Conv2dOptions every{.stride = 2, .padding = {1, 2}, .dilation = {1, 2}, .groups = 2, .bias = false};
  const Pool2dOptions overlapping{.stride = {2, 1}, .padding = 1};
  test::expect_torch(test::torch_cases(true),
                     {{"layer: Linear", layer(Linear(5, 4))},
                      {"layer: Linear without bias", layer(Linear(5, 4, {.bias = false}))},
                      {"layer: Conv2d", layer(Conv2d(2, 4, 3))},
                      {"layer: Conv2d with every option", layer(Conv2d(4, 6, {3, 2}, every))},
                      {"layer: MaxPool2d", layer(MaxPool2d({3, 2}, overlapping))},
                      {"layer: AveragePool2d", layer(AveragePool2d({3, 2}, overlapping))},
                      {"layer: GlobalAveragePool2d", layer(GlobalAveragePool2d())},
                      {"layer: convolutions in a row",
                       layer(Sequential(Conv2d(1, 16, 3), Relu(), Conv2d(16, 16, 3), Relu(), MaxPool2d(2)))},
                      {"layer: LayerNorm", layer(LayerNorm(7))},
                      {"layer: Embedding", layer(Embedding(5, 4))},
                      {"layer: CausalSelfAttention", layer(CausalSelfAttention({.channels = 12, .heads = 3}))}});
}

}  // namespace
}  // namespace viva::nn
