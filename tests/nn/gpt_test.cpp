// The language model: the same operations one by one, causality, and what it says of bad input.
#include "viva/nn/gpt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/nn/model_gradients.h"
#include "viva/autograd/embedding.h"
#include "viva/autograd/matmul.h"
#include "viva/autograd/pointwise.h"
#include "viva/autograd/reduce.h"
#include "viva/autograd/shape.h"
#include "viva/tensor/kernel_scope.h"

namespace viva::nn {
namespace {

constexpr GptOptions kSmall{.vocabulary = 11, .context = 9, .layers = 2, .heads = 3, .channels = 12};

data::Batch random_tokens(std::int64_t n, std::int64_t length, std::int64_t vocabulary, std::uint64_t seed) {
  const RandomStream random(seed, RandomPurpose::kInitialize, 98);
  data::Batch batch{Tensor::zeros({n, length}, Dtype::kInt32), Tensor::zeros({n, length}, Dtype::kInt32)};
  std::uint64_t element = 0;
  for (const Tensor& tokens : {batch.inputs, batch.targets}) {
    for (std::int32_t& token : tokens.mutable_values<std::int32_t>()) {
      token = static_cast<std::int32_t>(random.below(element++, static_cast<std::uint64_t>(vocabulary)));
    }
  }
  return batch;
}

// Larger than the initial values, so that every part of the model matters.
std::vector<Param> random_params(const Model& model, Dtype dtype) {
  std::vector<Param> params = model.initial_params(3, dtype);
  std::uint32_t number = 0;
  for (const Param& param : params) initialize(param.value, normal(0.4), 5, number++);
  return params;
}

Variable plain_norm(const Variable& x, const Variable& weight, const Variable& bias) {
  const Variable centred = x - autograd::mean(x, -1, {.keep_axis = true});
  const Variable variance = autograd::mean(centred * centred, -1, {.keep_axis = true});
  return centred / autograd::sqrt(variance + 1e-5) * weight + bias;
}

Variable plain_attention(const Variable& qkv, std::int64_t heads) {
  const std::int64_t batch = qkv.shape()[0], length = qkv.shape()[1], channels = qkv.shape()[2] / 3;
  const auto part = [&](std::int64_t i) {
    const Variable x = autograd::slice(qkv, 2, i * channels, (i + 1) * channels);
    return autograd::transpose(autograd::reshape(x, {batch, length, heads, channels / heads}), {0, 2, 1, 3});
  };
  const Tensor mask = Tensor::zeros({length, length}, qkv.dtype());
  for (std::int64_t i = 0; i < length; ++i) {
    for (std::int64_t j = i + 1; j < length; ++j) {
      mask.mutable_values<double>()[static_cast<std::size_t>(i * length + j)] = -1e9;
    }
  }
  const double root = std::sqrt(static_cast<double>(channels / heads));
  const Variable scores = autograd::matmul(part(0), part(1), {.transpose_b = true}) / root;
  const Variable weights = autograd::softmax(scores + qkv.tape().constant(mask));
  const Variable y = autograd::transpose(autograd::matmul(weights, part(2)), {0, 2, 1, 3});
  return autograd::reshape(y, {batch, length, channels});
}

Variable plain_gpt(const Params& p, const Tensor& tokens, const GptOptions& options) {
  const auto linear = [&](const Variable& x, const std::string& name) {
    return autograd::matmul(x, p[name + ".weight"], {.transpose_b = true}) + p[name + ".bias"];
  };
  const auto norm = [&](const Variable& x, const std::string& name) {
    return plain_norm(x, p[name + ".weight"], p[name + ".bias"]);
  };
  Variable x = autograd::embedding(p["token_embedding.weight"], tokens) +
               autograd::slice(p["position_embedding.weight"], 0, 0, tokens.shape()[1]);
  for (std::int64_t i = 0; i < options.layers; ++i) {
    const std::string block = "blocks." + std::to_string(i);
    const Variable qkv = linear(norm(x, block + ".norm1"), block + ".attention.qkv");
    x = x + linear(plain_attention(qkv, options.heads), block + ".attention.out");
    x = x + linear(autograd::gelu(linear(norm(x, block + ".norm2"), block + ".expand")), block + ".contract");
  }
  return autograd::matmul(norm(x, "norm"), p["head.weight"], {.transpose_b = true});
}

TEST(Gpt, ModulesGiveWhatTheOperationsGiveOneByOne) {
  const Model model = gpt(kSmall);
  const auto params = random_params(model, Dtype::kFloat64);
  for (const std::int64_t length : {9, 5, 1}) {
    const auto batch = random_tokens(3, length, 11, 7);
    const auto got = test::gradients_of(classifier_loss(model), batch, params);
    const auto expected =
        test::gradients_of(autograd::value_and_grad([&](const data::Batch& b, const Params& p) {
                             return autograd::cross_entropy(plain_gpt(p, b.inputs, kSmall), b.targets);
                           }),
                           batch, params);
    EXPECT_NEAR(got.loss, expected.loss, 1e-12);
    for (std::size_t i = 0; i < params.size(); ++i) {
      const auto a = got.grads[i].values<double>(), b = expected.grads[i].values<double>();
      for (std::size_t k = 0; k < a.size(); ++k) ASSERT_NEAR(a[k], b[k], 1e-11) << params[i].name;
    }
  }
}

TEST(Gpt, Float32AgreesWithFloat64) {
  const GptOptions options{.vocabulary = 65, .context = 64, .layers = 2, .heads = 4, .channels = 128};
  const Model model = gpt(options);
  const auto batch = random_tokens(2, 64, 65, 9);
  const auto in_float = test::gradients_of(classifier_loss(model), batch, model.initial_params(1));
  const auto in_double = test::gradients_of(classifier_loss(model), batch, model.initial_params(1, Dtype::kFloat64));
  EXPECT_NEAR(in_float.loss, in_double.loss, 1e-5);
  for (std::size_t i = 0; i < in_float.grads.size(); ++i) {
    const auto a = in_float.grads[i].values<float>();
    const auto b = in_double.grads[i].values<double>();
    for (std::size_t k = 0; k < a.size(); ++k) ASSERT_NEAR(a[k], b[k], 2e-6) << i;
  }
}

TEST(Gpt, AnOutputKnowsNothingOfLaterTokens) {
  const Model model = gpt(kSmall);
  const auto params = random_params(model, Dtype::kFloat32);
  const auto batch = random_tokens(1, 9, 11, 7);
  const auto logits = [&] {
    const KernelScope scope;
    Arena arena;
    autograd::Tape tape(arena, nullptr);
    const StepContext context{.mode = Mode::kEvaluation, .arena = arena};
    return model(Params(tape, context, params), batch.inputs).value().clone();
  };
  const Tensor before = logits();
  auto tokens = batch.inputs.mutable_values<std::int32_t>();
  tokens[5] = (tokens[5] + 1) % 11;
  const Tensor after = logits();
  for (std::int64_t place = 0; place < 9; ++place) {
    const Tensor a = before.row(0).slice(place, place + 1), b = after.row(0).slice(place, place + 1);
    EXPECT_EQ(bitwise_equal(a, b), place < 5) << place;
  }
}

TEST(Gpt, TheReferenceModelHasItsParameters) {
  const Model model = gpt({});
  std::int64_t elements = 0;
  for (const ParamSpec& spec : model.specs()) elements += element_count(spec.shape);
  const std::int64_t block = 2 * 2 * 128 + 128 * 384 + 384 + 128 * 128 + 128 + 2 * 128 * 512 + 512 + 128;
  EXPECT_EQ(elements, 65 * 128 + 64 * 128 + 4 * block + 2 * 128 + 65 * 128);
  EXPECT_EQ(model.specs()[4].name, "blocks.0.attention.qkv.weight");
}

TEST(Gpt, WhatDoesNotFitIsNamed) {
  const Model model = gpt(kSmall);
  const auto params = model.initial_params(0);
  EXPECT_THROW(test::gradients_of(classifier_loss(model), random_tokens(1, 10, 11, 1), params), ShapeMismatch);
  auto batch = random_tokens(3, 4, 11, 1);
  batch.inputs.mutable_values<std::int32_t>()[6] = 11;
  try {
    test::gradients_of(classifier_loss(model), batch, params);
    FAIL();
  } catch (const IndexOutOfBounds& error) {
    EXPECT_EQ(error.index, 11);
    EXPECT_EQ(error.size, 11);
    EXPECT_NE(std::string(error.what()).find("'token_embedding' (Embedding): index of sample 1"), std::string::npos)
        << error.what();
  }
  EXPECT_THROW(gpt({.heads = 5}), InvalidShape);
  EXPECT_THROW(gpt({.context = 0}), InvalidShape);
}

}  // namespace
}  // namespace viva::nn
