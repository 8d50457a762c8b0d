#include "viva/data/augment.h"

#include <algorithm>

#include "viva/base/error.h"
#include "viva/tensor/random.h"

namespace viva::data {
namespace {

// What happens to one image.
struct Change {
  bool mirrored = false;
  std::int64_t down = 0, right = 0;  // where the result's first pixel lies in the image
};

Change change_of(const RandomStream& random, std::int64_t image, const AugmentOptions& options) {
  const auto element = static_cast<std::uint64_t>(3 * image);
  const auto range = static_cast<std::uint64_t>(2 * options.crop_padding + 1);
  const auto offset = [&](std::uint64_t i) {
    return static_cast<std::int64_t>(random.below(element + i, range)) - options.crop_padding;
  };
  return {options.flip && random.below(element, 2) == 1, offset(1), offset(2)};
}

template <typename T>
void move_plane(const T* from, T* to, std::int64_t height, std::int64_t width, const Change& change, T border) {
  for (std::int64_t y = 0; y < height; ++y) {
    const std::int64_t row = y + change.down;
    for (std::int64_t x = 0; x < width; ++x) {
      const std::int64_t column = (change.mirrored ? width - 1 - x : x) + change.right;
      const bool inside = row >= 0 && row < height && column >= 0 && column < width;
      *to++ = inside ? from[row * width + column] : border;
    }
  }
}

}  // namespace

Tensor augment(const StepContext& context, const Tensor& images, const AugmentOptions& options) {
  const Shape& shape = images.shape();
  if (shape.size() < 3) {
    throw InvalidShape("augment: expected images (n, …, height, width), got " + to_string(shape));
  }
  if (options.crop_padding < 0) throw InvalidShape("augment: expected a padding of at least 0");
  const Tensor out = Tensor::in(context.arena, shape, images.dtype());
  const RandomStream stream(context.seed, RandomPurpose::kAugment, 0);
  const RandomStream random(stream.bits(static_cast<std::uint64_t>(context.batch)), RandomPurpose::kAugment, 1);
  const std::int64_t height = shape[shape.size() - 2], width = shape[shape.size() - 1];
  std::int64_t planes = 1;
  for (std::size_t axis = 1; axis + 2 < shape.size(); ++axis) planes *= shape[axis];
  visit_floating(images.dtype(), "augment", [&](auto type) {
    using T = decltype(type);
    const T* from = images.values<T>().data();
    T* to = out.mutable_values<T>().data();
    for (std::int64_t n = 0; n < shape[0]; ++n) {
      const Change change = change_of(random, n, options);
      for (std::int64_t plane = 0; plane < planes; ++plane, from += height * width, to += height * width) {
        move_plane(from, to, height, width, change, static_cast<T>(options.border));
      }
    }
  });
  return out;
}

}  // namespace viva::data
