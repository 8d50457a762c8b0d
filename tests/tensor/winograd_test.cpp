// viva's own kernels for convolutions, wherever oneDNN's would be used.
#include "viva/tensor/winograd.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tensor/conv2d_cases.h"
#include "tests/tensor/guarded.h"
#include "viva/tensor/kernel_scope.h"
#include "viva/tensor/shallow_conv2d.h"

namespace viva {
namespace {

std::size_t count_of(const Shape& shape) { return static_cast<std::size_t>(element_count(shape)); }

// The operations `kFunction` with operands between forbidden pages.
template <auto kFunction>
void guarded_forward(const Conv2dShape& s, const float* input, const float* weight, const float* bias, float* output,
                     Arena& arena) {
  for (const auto guard : {test::Guard::kBefore, test::Guard::kBehind}) {
    const test::Guarded x(guard, input, count_of(s.input_shape())), w(guard, weight, count_of(s.weight_shape()));
    const test::Guarded b(guard, bias, count_of({s.bias ? s.out_channels : 0}));
    const test::Guarded y(guard, count_of(s.output_shape()));
    kFunction(s, x.data(), w.data(), s.bias ? b.data() : nullptr, y.data(), arena);
    std::copy_n(y.data(), count_of(s.output_shape()), output);
  }
}
template <auto kFunction>
void guarded_backward_data(const Conv2dShape& s, const float* grad_output, const float* weight, float* grad_input,
                           Arena& arena) {
  for (const auto guard : {test::Guard::kBefore, test::Guard::kBehind}) {
    const test::Guarded dy(guard, grad_output, count_of(s.output_shape()));
    const test::Guarded w(guard, weight, count_of(s.weight_shape())), dx(guard, count_of(s.input_shape()));
    kFunction(s, dy.data(), w.data(), dx.data(), arena);
    std::copy_n(dx.data(), count_of(s.input_shape()), grad_input);
  }
}
template <auto kFunction>
void guarded_backward_weights(const Conv2dShape& s, const float* input, const float* grad_output, float* grad_weight,
                              float* grad_bias, Arena& arena) {
  const std::size_t biases = count_of({s.bias ? s.out_channels : 0});
  for (const auto guard : {test::Guard::kBefore, test::Guard::kBehind}) {
    const test::Guarded x(guard, input, count_of(s.input_shape()));
    const test::Guarded dy(guard, grad_output, count_of(s.output_shape()));
    const test::Guarded dw(guard, count_of(s.weight_shape())), db(guard, biases);
    kFunction(s, x.data(), dy.data(), dw.data(), db.data(), arena);
    std::copy_n(dw.data(), count_of(s.weight_shape()), grad_weight);
    std::copy_n(db.data(), biases, grad_bias);
  }
}

// Calls f(shape) with several batches, blocks, and uses of bias and ReLU.
template <typename F>
void for_each_variant(Conv2dShape shape, F f) {
  for (const std::int64_t batch : {0, 1, 17}) {
    for (const auto& [in, out] : {std::pair{1, 1}, {1, 8}, {8, 8}, {16, 16}, {16, 8}}) {
      if (shape.in_channels % in != 0 || shape.out_channels % out != 0) continue;
      shape.batch = batch;
      shape.input_block = in;
      shape.output_block = out;
      shape.bias = batch % 2 == 1;
      shape.relu = batch > 16;
      f(shape);
    }
  }
}

TEST(WinogradKernels, AreTheReference) {
  const KernelScope scope;
  int cases = 0;
  for (Conv2dShape shape : conv2d_shapes()) {
    if (!winograd_available(shape)) continue;
    shape.algorithm = Conv2dAlgorithm::kWinograd;
    for (const std::int64_t padding : {0, 1, 5}) {
      shape.padding_h = padding;
      shape.padding_w = padding / 2;
      for_each_variant(shape, [&](const Conv2dShape& variant) {
        expect_the_reference(variant, {guarded_forward<winograd_forward>, guarded_backward_data<winograd_backward_data>,
                                       guarded_backward_weights<winograd_backward_weights>});
        ++cases;
      });
    }
  }
  EXPECT_EQ(cases, 2 * 3 * 15);
}

TEST(WinogradKernels, AreForWholeBlocksOfChannels) {
  Conv2dShape shape{.batch = 1, .in_channels = 32, .height = 9, .width = 9, .out_channels = 48};
  shape.kernel_h = shape.kernel_w = 3;
  EXPECT_TRUE(winograd_available(shape));
  shape.in_channels = 24;
  EXPECT_FALSE(winograd_available(shape));
}

TEST(ShallowKernels, AreTheReference) {
  const KernelScope scope;
  int cases = 0;
  for (const std::int64_t channels : {1, 3, 4}) {
    for (const std::int64_t padding : {0, 1, 3}) {
      Conv2dShape shape{.in_channels = channels, .height = 9, .width = 6, .out_channels = 48};
      shape.kernel_h = shape.kernel_w = 3;
      shape.padding_h = padding;
      shape.padding_w = padding / 2;
      for_each_variant(shape, [&](const Conv2dShape& variant) {
        if (!is_shallow(variant)) return;
        expect_the_reference(variant, {.backward_weights = guarded_backward_weights<shallow_backward_weights>});
        ++cases;
      });
    }
  }
  EXPECT_EQ(cases, 3 * 3 * 3);
}

}  // namespace
}  // namespace viva
