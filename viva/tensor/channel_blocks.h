// Between images as PyTorch stores them and images in blocks of channels; see conv2d.h.
#pragma once

#include <cstdint>

#include "viva/base/error.h"

namespace viva {

// `plain` is (batch, channels, height, width), `shape`; `blocked` is (batch, channels / block, height, width, block).
// InvalidShape where `shape` has not four axes or `block` does not divide its channels. T is float or double.
template <typename T>
void to_channel_blocks(const Shape& shape, std::int64_t block, const T* plain, T* blocked);

template <typename T>
void from_channel_blocks(const Shape& shape, std::int64_t block, const T* blocked, T* plain);

}  // namespace viva
