#include "viva/tensor/channel_blocks.h"

#include <fmt/format.h>

#include "viva/tensor/transpose.h"

namespace viva {
namespace {

// The number of blocks; each is a matrix of `block` channels and this many pixels.
struct Blocks {
  std::int64_t count, pixels;
};

Blocks blocks_of(const Shape& shape, std::int64_t block) {
  if (shape.size() != 4 || block < 1 || shape[1] % block != 0) {
    throw InvalidShape(fmt::format(
        "channel blocks: {} in blocks of {}: there must be four axes, and a block must divide axis 1, the channels",
        to_string(shape), block));
  }
  return {shape[0] * (shape[1] / block), shape[2] * shape[3]};
}

}  // namespace

template <typename T>
void to_channel_blocks(const Shape& shape, std::int64_t block, const T* plain, T* blocked) {
  const auto [count, pixels] = blocks_of(shape, block);
  for (std::int64_t i = 0; i < count * block * pixels; i += block * pixels) {
    transpose<T>(plain + i, pixels, block, pixels, blocked + i, block);
  }
}

template <typename T>
void from_channel_blocks(const Shape& shape, std::int64_t block, const T* blocked, T* plain) {
  const auto [count, pixels] = blocks_of(shape, block);
  for (std::int64_t i = 0; i < count * block * pixels; i += block * pixels) {
    transpose<T>(blocked + i, block, pixels, block, plain + i, pixels);
  }
}

template void to_channel_blocks<float>(const Shape&, std::int64_t, const float*, float*);
template void to_channel_blocks<double>(const Shape&, std::int64_t, const double*, double*);
template void from_channel_blocks<float>(const Shape&, std::int64_t, const float*, float*);
template void from_channel_blocks<double>(const Shape&, std::int64_t, const double*, double*);

}  // namespace viva
