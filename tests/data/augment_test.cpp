// Augmentation: what can happen to an image, and what decides it.
#include "viva/data/augment.h"
#include "tests/data/values_of.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "viva/base/error.h"

namespace viva::data {
namespace {

// Images of 3 x 4 whose pixels are 1, 2, 3, ….
Tensor numbered_images(std::int64_t count) {
  const Tensor images = Tensor::zeros({count, 3, 4});
  float number = 0;
  for (float& x : images.mutable_values<float>()) x = ++number;
  return images;
}

// The plain form: image `i`, mirrored or not, moved by (down, right).
std::vector<float> moved(const Tensor& image, bool mirrored, std::int64_t down, std::int64_t right, float border) {
  std::vector<float> out;
  for (std::int64_t y = 0; y < 3; ++y) {
    for (std::int64_t x = 0; x < 4; ++x) {
      const std::int64_t row = y + down, column = (mirrored ? 3 - x : x) + right;
      const bool inside = row >= 0 && row < 3 && column >= 0 && column < 4;
      out.push_back(inside ? image.values<float>()[static_cast<std::size_t>(row * 4 + column)] : border);
    }
  }
  return out;
}

TEST(Augment, EveryImageIsOneOfThePossibleOnesAndAllOfThemOccur) {
  constexpr std::int64_t kCount = 2000;
  const Tensor images = numbered_images(kCount);
  Arena arena;
  const StepContext context{.seed = 3, .batch = 5, .arena = arena};
  const Tensor out = augment(context, images, {.flip = true, .crop_padding = 1, .border = -7});
  std::set<int> seen;
  for (std::int64_t i = 0; i < kCount; ++i) {
    const auto got = values_of<float>(out.row(i));
    int found = -1;
    for (int form = 0; form < 18; ++form) {
      if (got == moved(images.row(i), form % 2 == 1, form / 2 % 3 - 1, form / 6 - 1, -7)) found = form;
    }
    ASSERT_GE(found, 0) << "image " << i;
    seen.insert(found);
  }
  EXPECT_EQ(seen.size(), 18U);
}

TEST(Augment, IsAFunctionOfSeedBatchAndPlace) {
  const Tensor images = numbered_images(64);
  const AugmentOptions options{.flip = true, .crop_padding = 1};
  const auto result = [&](std::uint64_t seed, std::int64_t batch, std::int64_t worker) {
    Arena arena;
    const StepContext context{.seed = seed, .step = worker, .worker = worker, .batch = batch, .arena = arena};
    return values_of<float>(augment(context, images, options));
  };
  EXPECT_EQ(result(1, 2, 0), result(1, 2, 3));
  EXPECT_NE(result(1, 2, 0), result(1, 3, 0));
  EXPECT_NE(result(1, 2, 0), result(2, 2, 0));
}

TEST(Augment, ChannelsMoveTogether) {
  const Tensor images = Tensor::zeros({8, 2, 3, 4});
  for (std::int64_t i = 0; i < 8; ++i) {
    for (std::int64_t k = 0; k < 24; ++k) {
      images.row(i).mutable_values<float>()[static_cast<std::size_t>(k)] = static_cast<float>(k % 12 + 1);
    }
  }
  Arena arena;
  const StepContext context{.arena = arena};
  const Tensor out = augment(context, images, {.flip = true, .crop_padding = 2});
  for (std::int64_t i = 0; i < 8; ++i)
    EXPECT_EQ(values_of<float>(out.row(i).row(0)), values_of<float>(out.row(i).row(1)));
}

TEST(Augment, WithoutOptionsNothingChanges) {
  const Tensor images = numbered_images(3);
  Arena arena;
  const StepContext context{.arena = arena};
  EXPECT_EQ(values_of<float>(augment(context, images, {})), values_of<float>(images));
  EXPECT_THROW(augment(context, Tensor::zeros({2, 3}), {}), InvalidShape);
  EXPECT_THROW(augment(context, images, {.crop_padding = -1}), InvalidShape);
  EXPECT_THROW(augment(context, Tensor::zeros({1, 2, 2}, Dtype::kUInt8), {}), DtypeError);
}

}  // namespace
}  // namespace viva::data
