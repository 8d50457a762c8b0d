// What the tape promises: where gradients go, what it refuses, and the bridge to trainers.
#include "viva/autograd/tape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/autograd/random_tensor.h"
#include "viva/autograd/matmul.h"
#include "viva/autograd/pointwise.h"
#include "viva/autograd/reduce.h"
#include "viva/autograd/shape.h"
#include "viva/autograd/softmax.h"
#include "viva/autograd/value_and_grad.h"

namespace viva::autograd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One call of a callback made by value_and_grad.
struct Call {
  explicit Call(std::vector<Param> given) : params(std::move(given)), layout(params), buffer(layout.make_buffer()) {}

  template <typename Loss>
  double run(Loss loss, GradOptions options = {}) {
    const auto compute_grads = value_and_grad(loss, options);
    sink.clear();
    return compute_grads(context, batch, params, sink);
  }
  std::vector<double> gradient(std::size_t i) const {
    const Tensor view = layout.view(buffer, i);
    const auto values = view.values<double>();
    return {values.begin(), values.end()};
  }

  std::vector<Param> params;
  optim::Layout layout;
  Tensor buffer;
  GradSink sink{layout, buffer};
  Arena arena;
  StepContext context{.arena = arena};
  data::Batch batch;
};

std::vector<Param> two_params() {
  return {{"a", Tensor::from_values<double>({1, 2, 3})}, {"b", Tensor::from_values<double>({4, 5, 6})}};
}

TEST(ValueAndGrad, WritesTheGradientsIntoTheSink) {
  Call call(two_params());
  const double loss = call.run([](const data::Batch&, const Params& p) { return sum(p["a"] * p["b"]); });
  EXPECT_EQ(loss, 32);
  EXPECT_THAT(call.gradient(0), ElementsAre(4, 5, 6));
  EXPECT_THAT(call.gradient(1), ElementsAre(1, 2, 3));
  EXPECT_TRUE(call.sink.given(0) && call.sink.given(1));
}

TEST(ValueAndGrad, OverwritesWhatTheBufferHeld) {
  Call call(two_params());
  const auto loss = [](const data::Batch&, const Params& p) { return sum(p[0] * p[1]) + sum(p[0]); };
  call.run(loss);
  call.run(loss);
  EXPECT_THAT(call.gradient(0), ElementsAre(5, 6, 7));
}

TEST(ValueAndGrad, NamesAParameterThatTheLossDoesNotReach) {
  Call call(two_params());
  const auto loss = [](const data::Batch&, const Params& p) { return sum(p["a"]); };
  try {
    call.run(loss);
    FAIL() << "no error";
  } catch (const DimensionError& error) {
    EXPECT_EQ(error.name, "b");
    EXPECT_THAT(error.what(), HasSubstr("'b'"));
  }
  call.run(loss, {.unreached = Unreached::kZero});
  EXPECT_THAT(call.gradient(1), ElementsAre(0, 0, 0));
}

TEST(ValueAndGrad, ALossIsOneNumber) {
  Call call(two_params());
  EXPECT_THROW(call.run([](const data::Batch&, const Params& p) { return p[0] * p[1]; }), InvalidShape);
}

TEST(ValueAndGrad, UnknownParametersAreNamed) {
  Call call(two_params());
  EXPECT_THROW(call.run([](const data::Batch&, const Params& p) { return sum(p["c"]); }), DimensionError);
  EXPECT_THROW(call.run([](const data::Batch&, const Params& p) { return sum(p[2]); }), IndexOutOfBounds);
}

TEST(Tape, RecordsNothingWithoutASink) {
  Arena arena;
  Tape tape(arena, nullptr);
  const Variable x = tape.parameter(Tensor::from_values<double>({1, 2}), 0);
  EXPECT_FALSE(x.requires_grad());
  EXPECT_FALSE((x * x).requires_grad());
}

TEST(Tape, MisfitsNameBothShapes) {
  Arena arena;
  Tape tape(arena, nullptr);
  const Variable a = tape.constant(random_tensor({2, 3}, 1)), b = tape.constant(random_tensor({4, 3}, 1)),
                 f = tape.constant(random_tensor({2, 3}, 1, 0, 1, Dtype::kFloat32));
  EXPECT_THROW(a + b, BroadcastError);
  EXPECT_THROW(a + f, DtypeError);
  EXPECT_THROW(expand(a, {3}), BroadcastError);
  EXPECT_THROW(reshape(a, {4}), ShapeMismatch);
  EXPECT_THROW(reshape(a, {-1, 4}), ShapeMismatch);
  EXPECT_THROW(transpose(a, {0, 0}), InvalidShape);
  EXPECT_THROW(slice(a, 0, 1, 3), IndexOutOfBounds);
  EXPECT_THROW(slice(a, 2, 0, 1), IndexOutOfBounds);
  EXPECT_THROW(matmul(a, b), ShapeMismatch);
  EXPECT_THROW(linear(a, tape.constant(random_tensor({5, 4}, 1)), std::nullopt), ShapeMismatch);
  EXPECT_THROW(concatenate(std::vector<Variable>{a, b}, 1), ShapeMismatch);
  EXPECT_THROW(mean(tape.constant(Tensor::zeros({0}, Dtype::kFloat64))), InvalidShape);
  const Tensor labels = Tensor::from_values<std::int32_t>({0, 3});
  try {
    cross_entropy(a, labels);
    FAIL() << "no error";
  } catch (const IndexOutOfBounds& error) {
    EXPECT_EQ(error.index, 3);
    EXPECT_THAT(error.what(), HasSubstr("class of sample 1"));
  }
}

}  // namespace
}  // namespace viva::autograd
