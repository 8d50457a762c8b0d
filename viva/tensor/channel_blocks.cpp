#include "viva/tensor/channel_blocks.h"

#include <fmt/format.h>

#include <algorithm>

namespace viva {
namespace {

// to[column * rows + row] = from[row * columns + column], in tiles that stay in the first cache.
template <typename T>
void transpose(const T* from, std::int64_t rows, std::int64_t columns, T* to) {
  constexpr std::int64_t kTile = 16;
  for (std::int64_t row_begin = 0; row_begin < rows; row_begin += kTile) {
    const std::int64_t row_end = std::min(row_begin + kTile, rows);
    for (std::int64_t column = 0; column < columns; ++column) {
      for (std::int64_t row = row_begin; row < row_end; ++row) to[column * rows + row] = from[row * columns + column];
    }
  }
}

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
    transpose(plain + i, block, pixels, blocked + i);
  }
}

template <typename T>
void from_channel_blocks(const Shape& shape, std::int64_t block, const T* blocked, T* plain) {
  const auto [count, pixels] = blocks_of(shape, block);
  for (std::int64_t i = 0; i < count * block * pixels; i += block * pixels) {
    transpose(blocked + i, pixels, block, plain + i);
  }
}

template void to_channel_blocks<float>(const Shape&, std::int64_t, const float*, float*);
template void to_channel_blocks<double>(const Shape&, std::int64_t, const double*, double*);
template void from_channel_blocks<float>(const Shape&, std::int64_t, const float*, float*);
template void from_channel_blocks<double>(const Shape&, std::int64_t, const double*, double*);

}  // namespace viva
