#include "viva/nn/cnn.h"

#include <fmt/format.h>

#include "viva/autograd/shape.h"
#include "viva/base/error.h"
#include "viva/nn/layers.h"

namespace viva::nn {
namespace {

Variable with_channels(const Variable& x) {
  if (x.rank() != 3) return x;
  return autograd::reshape(x, {x.shape()[0], 1, x.shape()[1], x.shape()[2]});
}

}  // namespace

Model cnn(const CnnOptions& options) {
  if (options.height < 6 || options.width < 6) {
    throw InvalidShape(
        fmt::format("cnn: expected images of at least 6 x 6, got {} x {}", options.height, options.width));
  }
  const Conv2dOptions convolution{.algorithm = options.algorithm};
  const std::int64_t pooled = 64 * ((options.height - 4) / 2) * ((options.width - 4) / 2);
  Sequential layers;
  layers.add("image", Function(with_channels));
  layers.add("conv1", Conv2d(options.channels, 32, 3, convolution)).add("relu1", Relu());
  layers.add("conv2", Conv2d(32, 64, 3, convolution)).add("relu2", Relu());
  layers.add("pool", MaxPool2d(2)).add("flatten", Flatten());
  layers.add("hidden", Linear(pooled, 128)).add("relu3", Relu());
  layers.add("output", Linear(128, options.classes));
  return Model(std::move(layers));
}

}  // namespace viva::nn
