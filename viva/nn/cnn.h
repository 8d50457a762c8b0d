// The reference model "cnn".
#pragma once

#include <cstdint>

#include "viva/nn/image_layers.h"
#include "viva/nn/model.h"

namespace viva::nn {

struct CnnOptions {
  std::int64_t channels = 1, height = 28, width = 28;  // of an image
  std::int64_t classes = 10;
  Conv2dAlgorithm algorithm = Conv2dAlgorithm::kWinograd;
};

// Two convolutions 3 x 3 with 32 and 64 channels and ReLU, max pooling 2 x 2, a hidden layer of 128 with ReLU, logits
// (n, classes). Images are (n, channels, height, width), or (n, height, width) where they have one channel. Parameters
// "conv1.weight", "conv1.bias", "conv2.…", "hidden.…", "output.…". InvalidShape for images smaller than 6 x 6.
Model cnn(const CnnOptions& options = {});

}  // namespace viva::nn
