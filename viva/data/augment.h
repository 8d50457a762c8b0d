// Random changes of training images that leave their classes as they are.
#pragma once

#include <cstdint>

#include "viva/data/step_context.h"
#include "viva/tensor/tensor.h"

namespace viva::data {

struct AugmentOptions {
  bool flip = false;              // half of the images are mirrored left to right
  std::int64_t crop_padding = 0;  // each image is moved by up to so many pixels, up or down and left or right
  double border = 0;              // what a pixel from outside the image is

  bool any() const { return flip || crop_padding > 0; }
};

// Images (n, …, height, width), float32 or float64, as new ones in memory of the context's arena. What happens to an
// image is a function of seed, batch number and its place in the batch, so it is the same on any executors.
// InvalidShape for fewer than three axes or a negative padding; DtypeError.
Tensor augment(const StepContext& context, const Tensor& images, const AugmentOptions& options);

}  // namespace viva::data
