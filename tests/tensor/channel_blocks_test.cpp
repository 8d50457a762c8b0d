// Images in blocks of channels: where each element goes, and the way back.
#include "viva/tensor/channel_blocks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/tensor/conv2d_cases.h"

namespace viva {
namespace {

template <typename T>
void expect_plain_blocks() {
  for (const Shape& shape : {Shape{0, 16, 2, 2}, Shape{2, 16, 1, 1}, Shape{3, 32, 5, 7}, Shape{1, 48, 17, 3}}) {
    for (const std::int64_t block : {1, 8, 16}) {
      const Tensor plain = random_tensor<T>(1, shape);
      const Tensor blocked = Tensor::zeros(shape, dtype_of<T>), back = Tensor::zeros(shape, dtype_of<T>);
      to_channel_blocks<T>(shape, block, plain.values<T>().data(), blocked.mutable_values<T>().data());
      EXPECT_TRUE(bitwise_equal(blocked, reblock<T>(plain, block))) << to_string(shape) << " " << block;
      from_channel_blocks<T>(shape, block, blocked.values<T>().data(), back.mutable_values<T>().data());
      EXPECT_TRUE(bitwise_equal(back, plain)) << to_string(shape) << " " << block;
    }
  }
}

TEST(ChannelBlocks, AreThePlainLoopInFloat32) { expect_plain_blocks<float>(); }
TEST(ChannelBlocks, AreThePlainLoopInFloat64) { expect_plain_blocks<double>(); }

TEST(ChannelBlocks, MustDivideTheChannels) {
  const std::vector<float> values(24);
  std::vector<float> result(24);
  EXPECT_THROW(to_channel_blocks<float>({1, 24, 1, 1}, 16, values.data(), result.data()), InvalidShape);
  EXPECT_THROW(from_channel_blocks<float>({24, 1, 1}, 8, values.data(), result.data()), InvalidShape);
  EXPECT_THROW(from_channel_blocks<float>({1, 24, 1, 1}, 0, values.data(), result.data()), InvalidShape);
}

}  // namespace
}  // namespace viva
