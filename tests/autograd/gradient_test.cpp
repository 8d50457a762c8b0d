// Every operation's gradient against finite differences, in float64 and over several shapes.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/autograd/random_tensor.h"
#include "viva/autograd/attention.h"
#include "viva/autograd/batch_norm.h"
#include "viva/autograd/convolution.h"
#include "viva/autograd/embedding.h"
#include "viva/autograd/gradient_check.h"
#include "viva/autograd/layer_norm.h"
#include "viva/autograd/matmul.h"
#include "viva/autograd/pointwise.h"
#include "viva/autograd/reduce.h"
#include "viva/autograd/shape.h"
#include "viva/autograd/softmax.h"

namespace viva::autograd {
namespace {

constexpr double kBound = 1e-6;

using Inputs = std::span<const Variable>;

void expect_gradient(const std::function<Variable(Tape&, Inputs)>& f, const std::vector<Tensor>& inputs,
                     const std::string& what = {}) {
  const GradientCheck check = check_gradient(f, inputs);
  EXPECT_LT(check.largest_error, kBound) << what << ": input " << check.input << ", element " << check.element;
}

const std::vector<Shape> kShapes{{}, {1}, {5}, {3, 1}, {2, 3, 4}, {0}, {2, 0, 3}, {17}, {1, 33}};

TEST(Gradient, FunctionsOfEachElement) {
  struct Case {
    const char* name;
    std::function<Variable(const Variable&)> f;
    double low, high;
  };
  const std::vector<Case> cases{
      {"exp", [](const Variable& x) { return exp(x); }, -2, 2},
      {"log", [](const Variable& x) { return log(x); }, 0.5, 3},
      {"sqrt", [](const Variable& x) { return sqrt(x); }, 0.5, 3},
      {"tanh", [](const Variable& x) { return tanh(x); }, -3, 3},
      {"sigmoid", [](const Variable& x) { return sigmoid(x); }, -4, 4},
      {"relu", [](const Variable& x) { return relu(x); }, 0.1, 2},
      {"relu below", [](const Variable& x) { return relu(x); }, -2, -0.1},
      {"leaky_relu", [](const Variable& x) { return leaky_relu(x, 0.2); }, -2, -0.1},
      {"gelu", [](const Variable& x) { return gelu(x); }, -5, 5},
      {"silu", [](const Variable& x) { return silu(x); }, -4, 4},
      {"negate", [](const Variable& x) { return -x; }, -2, 2},
      {"with numbers", [](const Variable& x) { return 3.0 - (2.0 * x + 1.0) / 4.0 - 0.5; }, -2, 2},
      {"reciprocal", [](const Variable& x) { return 2.0 / x; }, 0.5, 2},
  };
  for (const Case& c : cases) {
    for (const Shape& shape : kShapes) {
      expect_gradient([&](Tape&, Inputs in) { return c.f(in[0]); }, {random_tensor(shape, 7, c.low, c.high)},
                      std::string(c.name) + " " + to_string(shape));
    }
  }
}

TEST(Gradient, ArithmeticWithBroadcasting) {
  const std::vector<std::pair<Shape, Shape>> shapes{{{3, 4}, {3, 4}}, {{3, 4}, {4}},      {{3, 1}, {1, 4}},
                                                    {{}, {2, 3}},     {{2, 3}, {}},       {{2, 0}, {1, 1}},
                                                    {{1}, {1}},       {{2, 3, 4}, {3, 1}}};
  for (const auto& [a, b] : shapes) {
    const std::vector<Tensor> inputs{random_tensor(a, 1), random_tensor(b, 2, 0.5, 2)};
    const std::string what = to_string(a) + " and " + to_string(b);
    expect_gradient([](Tape&, Inputs in) { return in[0] + in[1]; }, inputs, "+ " + what);
    expect_gradient([](Tape&, Inputs in) { return in[0] - in[1]; }, inputs, "- " + what);
    expect_gradient([](Tape&, Inputs in) { return in[0] * in[1]; }, inputs, "* " + what);
    expect_gradient([](Tape&, Inputs in) { return in[0] / in[1]; }, inputs, "/ " + what);
  }
}

TEST(Gradient, AValueUsedSeveralTimes) {
  expect_gradient([](Tape&, Inputs in) { return in[0] * in[0] + in[0] + in[0] / (in[0] * in[0] + 1.0); },
                  {random_tensor({3, 5}, 3)});
  expect_gradient([](Tape&, Inputs in) { return in[0] + in[0]; }, {random_tensor({4}, 3)});
  expect_gradient(
      [](Tape&, Inputs in) {
        const Variable flat = reshape(in[0], {6});
        return flat + reshape(transpose(in[0]), {6}) * flat;
      },
      {random_tensor({2, 3}, 3)});
}

TEST(Gradient, Shapes) {
  for (const Shape& shape : std::vector<Shape>{{2, 3, 4}, {1, 1, 1}, {2, 0, 4}}) {
    const std::vector<Tensor> inputs{random_tensor(shape, 4)};
    expect_gradient([](Tape&, Inputs in) { return reshape(in[0], {-1, in[0].shape()[2]}) * 2.0; }, inputs);
    expect_gradient([](Tape&, Inputs in) { return transpose(in[0]); }, inputs);
    expect_gradient([](Tape&, Inputs in) { return transpose(in[0], {2, 0, 1}); }, inputs);
    expect_gradient([](Tape&, Inputs in) { return flatten(in[0]); }, inputs);
    for (std::int64_t axis = -3; axis < 3; ++axis) {
      expect_gradient(
          [axis](Tape&, Inputs in) {
            const std::int64_t length = in[0].shape()[static_cast<std::size_t>(axis < 0 ? axis + 3 : axis)];
            return slice(in[0], axis, length / 3, length);
          },
          inputs);
      expect_gradient(
          [axis](Tape&, Inputs in) {
            const std::vector<Variable> parts{in[0], in[0] * 2.0, in[0]};
            return concatenate(parts, axis);
          },
          inputs);
    }
  }
  expect_gradient([](Tape&, Inputs in) { return expand(in[0], {2, 3, 4}); }, {random_tensor({3, 1}, 5)});
}

TEST(Gradient, Reductions) {
  for (const Shape& shape : std::vector<Shape>{{2, 3, 4}, {1, 1, 1}, {3, 1, 2}}) {
    const std::vector<Tensor> inputs{random_tensor(shape, 6)};
    expect_gradient([](Tape&, Inputs in) { return sum(in[0]); }, inputs);
    expect_gradient([](Tape&, Inputs in) { return mean(in[0]); }, inputs);
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      for (const bool keep : {false, true}) {
        const ReduceOptions options{.keep_axis = keep};
        expect_gradient([&](Tape&, Inputs in) { return sum(in[0], axis, options); }, inputs);
        expect_gradient([&](Tape&, Inputs in) { return mean(in[0], axis, options); }, inputs);
        expect_gradient([&](Tape&, Inputs in) { return max(in[0], axis, options); }, inputs);
      }
    }
  }
  expect_gradient([](Tape&, Inputs in) { return sum(in[0], 1); }, {random_tensor({3, 0, 2}, 6)});
}

TEST(Gradient, MatrixProducts) {
  struct Case {
    Shape a, b;
  };
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      for (const Case& c :
           std::vector<Case>{{{}, {}}, {{2}, {2}}, {{2, 3}, {2, 3}}, {{2}, {}}, {{1}, {1}}, {{0}, {}}}) {
        for (const auto& [m, k, n] : std::vector<std::array<std::int64_t, 3>>{{3, 4, 5}, {1, 1, 1}, {2, 5, 1}}) {
          Shape a = c.a, b = c.b;
          a.push_back(ta ? k : m);
          a.push_back(ta ? m : k);
          b.push_back(tb ? n : k);
          b.push_back(tb ? k : n);
          expect_gradient(
              [&](Tape&, Inputs in) { return matmul(in[0], in[1], {.transpose_a = ta, .transpose_b = tb}); },
              {random_tensor(a, 8), random_tensor(b, 9)}, to_string(a) + " · " + to_string(b));
        }
      }
    }
  }
}

TEST(Gradient, Linear) {
  for (const Shape& leading : std::vector<Shape>{{4}, {2, 3}, {1}, {0}, {}}) {
    Shape shape = leading;
    shape.push_back(5);
    const std::vector<Tensor> inputs{random_tensor(shape, 10), random_tensor({3, 5}, 11), random_tensor({3}, 12)};
    expect_gradient([](Tape&, Inputs in) { return linear(in[0], in[1], in[2]); }, inputs);
    expect_gradient([](Tape&, Inputs in) { return linear(in[0], in[1], std::nullopt) + 0.0 * sum(in[2]); }, inputs);
    expect_gradient([](Tape&, Inputs in) { return linear(in[0], in[1], in[2], Activation::kRelu); }, inputs);
  }
}

TEST(Gradient, Convolutions) {
  struct Case {
    Shape input, weight;
    Conv2dShape settings;
  };
  const std::vector<Case> cases{
      {{2, 3, 5, 4}, {4, 3, 3, 3}, {}},
      {{1, 1, 1, 1}, {1, 1, 1, 1}, {}},
      {{2, 4, 6, 5}, {6, 2, 3, 2}, {.stride_h = 2, .padding_h = 1, .padding_w = 2, .dilation_w = 2, .groups = 2}},
      {{0, 2, 3, 3}, {2, 2, 3, 3}, {}},
      {{1, 8, 3, 3}, {8, 8, 2, 2}, {.output_block = 8}},
  };
  for (const Case& c : cases) {
    const std::vector<Tensor> inputs{random_tensor(c.input, 17), random_tensor(c.weight, 18, -0.5, 0.5),
                                     random_tensor({c.weight[0]}, 19)};
    for (const bool relu : {false, true}) {
      Conv2dShape settings = c.settings;
      settings.relu = relu;
      expect_gradient([&](Tape&, Inputs in) { return conv2d(in[0], in[1], in[2], settings); }, inputs,
                      to_string(c.input));
      expect_gradient([&](Tape&, Inputs in) { return conv2d(in[0], in[1], std::nullopt, settings) + 0.0 * sum(in[2]); },
                      inputs);
    }
  }
  // Only the bias, or only the weight, is asked for.
  const Tensor image = random_tensor({2, 3, 5, 4}, 17), weight = random_tensor({4, 3, 3, 3}, 18);
  expect_gradient([&](Tape& tape, Inputs in) { return conv2d(tape.constant(image), tape.constant(weight), in[0]); },
                  {random_tensor({4}, 19)});
  expect_gradient([&](Tape& tape, Inputs in) { return conv2d(tape.constant(image), in[0], std::nullopt); }, {weight});
}

TEST(Gradient, Pooling) {
  struct Case {
    Shape input;
    Pool2dShape settings;
  };
  const std::vector<Case> cases{
      {{2, 3, 4, 6}, {.kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2}},
      {{1, 1, 1, 1}, {}},
      {{2, 2, 5, 5}, {.kernel_h = 3, .kernel_w = 2, .stride_h = 1, .stride_w = 2, .padding_h = 1, .padding_w = 1}},
      {{0, 2, 2, 2}, {}},
      {{1, 2, 3, 4, 8}, {.kernel_h = 2, .kernel_w = 2, .stride_h = 1, .stride_w = 2}},
  };
  for (const Case& c : cases) {
    const std::vector<Tensor> inputs{random_tensor(c.input, 20)};
    const std::string what = to_string(c.input);
    expect_gradient([&](Tape&, Inputs in) { return max_pool2d(in[0], c.settings); }, inputs, "max " + what);
    expect_gradient([&](Tape&, Inputs in) { return max_pool2d(in[0], c.settings, Activation::kRelu); }, inputs);
    expect_gradient([&](Tape&, Inputs in) { return average_pool2d(in[0], c.settings); }, inputs, "average " + what);
    expect_gradient([&](Tape&, Inputs in) { return global_average_pool2d(in[0]); }, inputs, "global " + what);
    expect_gradient([&](Tape&, Inputs in) { return from_channel_blocks(in[0]); }, inputs, "blocks " + what);
  }
}

TEST(Gradient, ConvolutionWithPooling) {
  const Pool2dShape pool{.kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2};
  const Tensor weight = random_tensor({4, 2, 3, 3}, 18, -0.5, 0.5), bias = random_tensor({4}, 19);
  for (const std::int64_t n : {1, 18, 0}) {  // 18: two slices, one of them short
    const Tensor image = random_tensor({n, 2, 4, 6}, 17);
    for (const Activation activation : {Activation::kNone, Activation::kRelu}) {
      const auto both = [&](const Variable& x, const Variable& w, const std::optional<Variable>& b) {
        return conv2d_max_pool2d(x, w, b, {}, pool, activation);
      };
      if (n < 2) expect_gradient([&](Tape&, Inputs in) { return both(in[0], in[1], in[2]); }, {image, weight, bias});
      expect_gradient([&](Tape& t, Inputs in) { return both(t.constant(image), in[0], std::nullopt); }, {weight});
      expect_gradient([&](Tape& t, Inputs in) { return both(t.constant(image), t.constant(weight), in[0]); }, {bias});
      if (n < 2) expect_gradient([&](Tape& t, Inputs in) { return both(in[0], t.constant(weight), {}); }, {image});
    }
  }
}

TEST(Gradient, LayerNormalisation) {
  for (const Shape& shape : std::vector<Shape>{{3, 5}, {2, 3, 17}, {1, 2}, {0, 4}, {7}}) {
    const Shape width{shape.back()};
    expect_gradient([](Tape&, Inputs in) { return layer_norm(in[0], in[1], in[2], 0.1); },
                    {random_tensor(shape, 21), random_tensor(width, 22), random_tensor(width, 23)}, to_string(shape));
  }
  // One variable as weight and bias, which gets both gradients; and weight alone, or x alone.
  const Tensor x = random_tensor({3, 5}, 21), w = random_tensor({5}, 22);
  expect_gradient([](Tape&, Inputs in) { return layer_norm(in[0], in[1], in[1], 0.1); }, {x, w});
  expect_gradient([&](Tape& t, Inputs in) { return layer_norm(t.constant(x), in[0], t.constant(w), 0.1); }, {w});
  expect_gradient([&](Tape& t, Inputs in) { return layer_norm(in[0], t.constant(w), t.constant(w), 0.1); }, {x});
  // Every value of a row of one element is its own mean.
  expect_gradient([](Tape&, Inputs in) { return layer_norm(in[0], in[1], in[2]); },
                  {random_tensor({4, 1}, 21), random_tensor({1}, 22), random_tensor({1}, 23)});
}

TEST(Gradient, BatchNormalisation) {
  for (const Shape& shape : std::vector<Shape>{{4, 3}, {2, 3, 2, 2}, {3, 1, 5}, {1, 2, 2}}) {
    const Shape channels{shape[1]};
    const std::vector<Tensor> inputs{random_tensor(shape, 26), random_tensor(channels, 27),
                                     random_tensor(channels, 28)};
    expect_gradient([](Tape&, Inputs in) { return batch_norm(in[0], in[1], in[2], 0.1); }, inputs, to_string(shape));
    const ChannelStatistics given{random_tensor(channels, 29), random_tensor(channels, 30, 0.5, 2)};
    expect_gradient([&](Tape&, Inputs in) { return batch_norm_by(given, in[0], in[1], in[2], 0.1); }, inputs);
  }
}

TEST(Gradient, Embeddings) {
  const Tensor indices = Tensor::from_values<std::int32_t>({3, 0, 3, 3, 1, 0}, {2, 3});
  expect_gradient([&](Tape&, Inputs in) { return embedding(in[0], indices); }, {random_tensor({5, 4}, 24)});
  const Tensor none = Tensor::zeros({2, 0}, Dtype::kInt32);
  expect_gradient([&](Tape&, Inputs in) { return embedding(in[0], none); }, {random_tensor({5, 4}, 24)});
}

TEST(Gradient, Attention) {
  struct Case {
    std::int64_t batch, length, heads, size;
  };
  for (const auto& [batch, length, heads, size] :
       std::vector<Case>{{2, 5, 2, 3}, {1, 1, 1, 1}, {1, 13, 1, 9}, {0, 3, 2, 2}, {2, 9, 3, 1}}) {
    expect_gradient([heads = heads](Tape&, Inputs in) { return causal_attention(in[0], heads); },
                    {random_tensor({batch, length, 3 * heads * size}, 25, -1.5, 1.5)});
  }
}

TEST(Gradient, SoftmaxAndLosses) {
  for (const Shape& shape : std::vector<Shape>{{4, 5}, {1, 1}, {2, 3, 7}}) {
    const std::vector<Tensor> inputs{random_tensor(shape, 13)};
    expect_gradient([](Tape&, Inputs in) { return softmax(in[0]); }, inputs);
    expect_gradient([](Tape&, Inputs in) { return log_softmax(in[0]); }, inputs);
    const Tensor zero_to_one = random_tensor(shape, 14, 0, 1), others = random_tensor(shape, 15);
    expect_gradient([&](Tape&, Inputs in) { return binary_cross_entropy_with_logits(in[0], zero_to_one); }, inputs);
    expect_gradient([&](Tape&, Inputs in) { return mean_squared_error(in[0], others); }, inputs);
    expect_gradient([&](Tape&, Inputs in) { return huber(in[0], others, 0.7) * 3.0; }, inputs);
  }
  const Tensor labels = Tensor::from_values<std::int32_t>({1, 0, 4, 2});
  for (const CrossEntropyOptions& options : std::vector<CrossEntropyOptions>{{}, {0.1, {}}, {0, 4}, {0.2, 0}}) {
    expect_gradient([&](Tape&, Inputs in) { return cross_entropy(in[0], labels, options) * 2.0; },
                    {random_tensor({4, 5}, 16)});
  }
}

TEST(GradientCheck, FindsAWrongGradient) {
  // x·x whose gradient takes one factor for a constant.
  const GradientCheck check = check_gradient([](Tape& tape, Inputs in) { return in[0] * tape.constant(in[0].value()); },
                                             {random_tensor({3}, 1)});
  EXPECT_GT(check.largest_error, 0.1);
}

}  // namespace
}  // namespace viva::autograd
