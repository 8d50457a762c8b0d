// viva's own kernels for convolutions, wherever oneDNN's would be used.
#include "viva/tensor/winograd.h"

#include <gtest/gtest.h>

#include "tests/tensor/conv2d_cases.h"
#include "viva/tensor/kernel_scope.h"
#include "viva/tensor/shallow_conv2d.h"

namespace viva {
namespace {

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
        expect_the_reference(variant, {winograd_forward, winograd_backward_data, winograd_backward_weights});
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
        expect_the_reference(variant, {.backward_weights = shallow_backward_weights});
        ++cases;
      });
    }
  }
  EXPECT_EQ(cases, 3 * 3 * 3);
}

}  // namespace
}  // namespace viva
