// Every operation's values and gradients against PyTorch's.
#include <gtest/gtest.h>

#include <array>

#include "tests/torch_cases.h"
#include "viva/autograd/attention.h"
#include "viva/autograd/convolution.h"
#include "viva/autograd/embedding.h"
#include "viva/autograd/layer_norm.h"
#include "viva/autograd/matmul.h"
#include "viva/autograd/shape.h"
#include "viva/autograd/softmax.h"

namespace viva::autograd {
namespace {

using In = std::vector<Variable>;

test::Expression on(std::function<Variable(const Variable&)> f) {
  return [f](const Params&, const In& in) { return f(in[0]); };
}

test::Expression binary(Variable (*f)(const Variable&, const Variable&)) {
  return [f](const Params&, const In& in) { return f(in[0], in[1]); };
}

test::Expression product(MatmulFlags flags) {
  return [flags](const Params&, const In& in) { return matmul(in[0], in[1], flags); };
}

test::Expression convolution(const Conv2dShape& settings) {
  return [settings](const Params&, const In& in) {
    return conv2d(in[0], in[1], in.size() == 3 ? std::optional(in[2]) : std::nullopt, settings);
  };
}

test::Expression crossing(const CrossEntropyOptions& options) {
  return [options](const Params&, const In& in) { return cross_entropy(in[0], in[1].value(), options); };
}

test::Expression linear_map(Activation activation) {
  return [activation](const Params&, const In& in) {
    return linear(in[0], in[1], in.size() == 3 ? std::optional(in[2]) : std::nullopt, activation);
  };
}

constexpr Pool2dShape kHalving{.kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2};
constexpr Pool2dShape kOverlapping{
    .kernel_h = 3, .kernel_w = 2, .stride_h = 2, .stride_w = 1, .padding_h = 1, .padding_w = 1};

std::map<std::string, test::Expression> expressions() {
  std::map<std::string, test::Expression> all{
      {"exp", on(exp)},
      {"log", on(log)},
      {"sqrt", on(sqrt)},
      {"tanh", on(tanh)},
      {"sigmoid", on(sigmoid)},
      {"relu", on(relu)},
      {"leaky relu", on([](const Variable& x) { return leaky_relu(x); })},
      {"leaky relu, slope 0.2", on([](const Variable& x) { return leaky_relu(x, 0.2); })},
      {"gelu", on(gelu)},
      {"silu", on(silu)},
      {"negate", on([](const Variable& x) { return -x; })},
      {"with numbers", on([](const Variable& x) { return 3.0 - (2.0 * x + 1.0) / 4.0 - 0.5; })},
      {"number over", on([](const Variable& x) { return 2.0 / x; })},
      {"matmul", product({})},
      {"matmul, a transposed", product({.transpose_a = true})},
      {"matmul, b transposed", product({.transpose_b = true})},
      {"matmul, both transposed", product({.transpose_a = true, .transpose_b = true})},
      {"matmul, batches", product({})},
      {"matmul, batches transposed", product({.transpose_a = true, .transpose_b = true})},
      {"matmul, one matrix for all", product({.transpose_b = true})},
      {"linear", linear_map(Activation::kNone)},
      {"linear without bias", linear_map(Activation::kNone)},
      {"linear with relu", linear_map(Activation::kRelu)},
      {"reshape", on([](const Variable& x) {
         return reshape(x, {4, -1});
       })},
      {"flatten", on(flatten)},
      {"transpose", on([](const Variable& x) { return transpose(x); })},
      {"transpose, axes", on([](const Variable& x) {
         return transpose(x, {2, 0, 1});
       })},
      {"slice", on([](const Variable& x) { return slice(x, 2, 1, 3); })},
      {"slice, first axis", on([](const Variable& x) { return slice(x, 0, 1, 2); })},
      {"concatenate",
       [](const Params&, const In& in) {
         return concatenate(std::array{in[0], in[1], in[0]}, 1);
       }},
      {"concatenate, last axis", [](const Params&, const In& in) { return concatenate(in, -1); }},
      {"expand", on([](const Variable& x) {
         return expand(x, {2, 3, 4});
       })},
      {"sum", on([](const Variable& x) { return sum(x); })},
      {"sum, axis 1", on([](const Variable& x) { return sum(x, 1); })},
      {"sum, last axis kept", on([](const Variable& x) { return sum(x, -1, {.keep_axis = true}); })},
      {"mean", on([](const Variable& x) { return mean(x); })},
      {"mean, axis 1", on([](const Variable& x) { return mean(x, 1); })},
      {"mean, last axis kept", on([](const Variable& x) { return mean(x, -1, {.keep_axis = true}); })},
      {"max, axis 0", on([](const Variable& x) { return max(x, 0); })},
      {"max, last axis kept", on([](const Variable& x) { return max(x, -1, {.keep_axis = true}); })},
      {"conv2d", convolution({})},
      {"conv2d without bias", convolution({})},
      {"conv2d, stride", convolution({.stride_h = 2})},
      {"conv2d, padding", convolution({.padding_h = 1, .padding_w = 2})},
      {"conv2d, dilation", convolution({.dilation_h = 2})},
      {"conv2d, groups", convolution({.groups = 2})},
      {"conv2d, depthwise", convolution({.groups = 4})},
      {"conv2d, everything",
       convolution({.stride_h = 2, .stride_w = 2, .padding_h = 1, .padding_w = 2, .dilation_w = 2, .groups = 2})},
      {"conv2d with relu", convolution({.relu = true})},
      {"max pooling", on([](const Variable& x) { return max_pool2d(x, kHalving); })},
      {"max pooling, overlapping", on([](const Variable& x) { return max_pool2d(x, kOverlapping); })},
      {"average pooling", on([](const Variable& x) { return average_pool2d(x, kHalving); })},
      {"average pooling, overlapping", on([](const Variable& x) { return average_pool2d(x, kOverlapping); })},
      {"global average pooling", on(global_average_pool2d)},
      {"layer norm", [](const Params&, const In& in) { return layer_norm(in[0], in[1], in[2]); }},
      {"layer norm, eps 0.1", [](const Params&, const In& in) { return layer_norm(in[0], in[1], in[2], 0.1); }},
      {"embedding", [](const Params&, const In& in) { return embedding(in[0], in[1].value()); }},
      {"attention", on([](const Variable& x) { return causal_attention(x, 2); })},
      {"softmax", on(softmax)},
      {"log-softmax", on(log_softmax)},
      {"cross-entropy", crossing({})},
      {"cross-entropy, smoothed", crossing({.label_smoothing = 0.1, .ignore_label = {}})},
      {"cross-entropy, ignoring 4", crossing({.ignore_label = 4})},
      {"cross-entropy, smoothed, ignoring 0", crossing({.label_smoothing = 0.2, .ignore_label = 0})},
      {"cross-entropy of sequences", crossing({})},
      {"binary cross-entropy",
       [](const Params&, const In& in) { return binary_cross_entropy_with_logits(in[0], in[1].value()); }},
      {"mean squared error", [](const Params&, const In& in) { return mean_squared_error(in[0], in[1].value()); }},
      {"huber", [](const Params&, const In& in) { return huber(in[0], in[1].value()); }},
      {"huber, delta 0.5", [](const Params&, const In& in) { return huber(in[0], in[1].value(), 0.5); }},
  };
  for (const char* shapes : {"equal", "row", "both", "scalar"}) {
    all.insert({std::string("add, ") + shapes, binary(operator+)});
    all.insert({std::string("subtract, ") + shapes, binary(operator-)});
    all.insert({std::string("multiply, ") + shapes, binary(operator*)});
    all.insert({std::string("divide, ") + shapes, binary(operator/)});
  }
  return all;
}

TEST(Operations, AgreeWithPyTorch) { test::expect_torch(test::torch_cases(false), expressions()); }

}  // namespace
}  // namespace viva::autograd
