#include "viva/nn/image_layers.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string_view>

#include "viva/base/error.h"
#include "viva/nn/initializer.h"
#include "viva/nn/layers.h"

namespace viva::nn {
namespace {

// Four axes, or five where the channels are in blocks; `channels` of them unless that is -1.
void check_image(const std::string& name, std::string_view layer, const Variable& x, std::int64_t channels) {
  const Shape& shape = x.shape();
  const bool image = shape.size() == 4 || shape.size() == 5;
  const std::int64_t got = !image ? -1 : shape.size() == 4 ? shape[1] : shape[1] * shape[4];
  if (image && (channels < 0 || got == channels)) return;
  throw ShapeMismatch(fmt::format("layer '{}' ({}): input (n, channels, height, width)", name, layer),
                      {-1, channels, -1, -1}, shape);
}

}  // namespace

Conv2d::Conv2d(std::int64_t in, std::int64_t out, Size2d kernel, const Conv2dOptions& options)
    : in_(in), out_(out), kernel_(kernel), bias_wanted_(options.bias) {
  settings_.stride_h = options.stride.h;
  settings_.stride_w = options.stride.w;
  settings_.padding_h = options.padding.h;
  settings_.padding_w = options.padding.w;
  settings_.dilation_h = options.dilation.h;
  settings_.dilation_w = options.dilation.w;
  settings_.groups = options.groups;
  settings_.algorithm = options.algorithm;
  if (in < 1 || out < 1 || options.groups < 1 || in % options.groups != 0 || out % options.groups != 0) {
    throw InvalidShape(fmt::format("Conv2d: expected channels of at least 1 that {} groups divide, got {} and {}",
                                   options.groups, in, out));
  }
  if (kernel.h < 1 || kernel.w < 1) {
    throw InvalidShape(fmt::format("Conv2d: expected a kernel of at least 1 x 1, got {} x {}", kernel.h, kernel.w));
  }
}

void Conv2d::declare(Declarations& declarations) {
  name_ = declarations.path();
  const Shape shape{out_, in_ / settings_.groups, kernel_.h, kernel_.w};
  const Initializer initializer = uniform(1 / std::sqrt(static_cast<double>(shape[1] * shape[2] * shape[3])));
  weight_ = declarations.parameter("weight", shape, initializer);
  if (bias_wanted_) bias_ = declarations.parameter("bias", {out_}, initializer);
}

bool Conv2d::absorb_next(const Module& next) {
  if (settings_.relu || pool_) return false;
  if (const auto* pool = dynamic_cast<const Pool2d*>(&next); pool != nullptr && pool->kind() == Pool2d::Kind::kMax) {
    pool_ = *pool;
  } else {
    settings_.relu = dynamic_cast<const Relu*>(&next) != nullptr;
  }
  return settings_.relu || pool_;
}

bool Conv2d::reads_channel_blocks() const { return settings_.groups == 1 && in_ % channel_block() == 0; }

Variable Conv2d::forward(const Params& params, const Variable& x) const {
  check_image(name_, "Conv2d", x, in_);
  Conv2dShape settings = settings_;
  const bool blocks = (give_blocks_ || pool_) && settings.groups == 1 && x.dtype() == Dtype::kFloat32;
  if (blocks && out_ % channel_block() == 0) settings.output_block = channel_block();
  const std::optional<Variable> bias = bias_wanted_ ? std::optional(params[bias_]) : std::nullopt;
  if (!pool_) return autograd::conv2d(x, params[weight_], bias, settings);
  const Variable y =
      autograd::conv2d_max_pool2d(x, params[weight_], bias, settings, pool_->settings(), pool_->activation());
  return give_blocks_ ? y : autograd::from_channel_blocks(y);
}

Pool2d::Pool2d(Kind kind, Size2d kernel, const Pool2dOptions& options) : kind_(kind) {
  settings_.kernel_h = kernel.h;
  settings_.kernel_w = kernel.w;
  settings_.stride_h = options.stride.h == 0 ? kernel.h : options.stride.h;
  settings_.stride_w = options.stride.w == 0 ? kernel.w : options.stride.w;
  settings_.padding_h = options.padding.h;
  settings_.padding_w = options.padding.w;
}

// The largest of what a ReLU gives is the ReLU of the largest.
bool Pool2d::absorb_previous(const Module& previous) {
  const bool relu = kind_ == Kind::kMax && dynamic_cast<const Relu*>(&previous) != nullptr;
  if (relu) activation_ = autograd::Activation::kRelu;
  return relu;
}

Variable Pool2d::forward(const Params&, const Variable& x) const {
  check_image(name_, kind_ == Kind::kMax ? "MaxPool2d" : "AveragePool2d", x, -1);
  const Variable y =
      kind_ == Kind::kMax ? autograd::max_pool2d(x, settings_, activation_) : autograd::average_pool2d(x, settings_);
  return give_blocks_ ? y : autograd::from_channel_blocks(y);
}

Pool2d MaxPool2d(Size2d kernel, const Pool2dOptions& options) { return {Pool2d::Kind::kMax, kernel, options}; }
Pool2d AveragePool2d(Size2d kernel, const Pool2dOptions& options) { return {Pool2d::Kind::kAverage, kernel, options}; }

Variable GlobalAveragePool2d::forward(const Params&, const Variable& x) const {
  check_image(name_, "GlobalAveragePool2d", x, -1);
  return autograd::global_average_pool2d(x);
}

}  // namespace viva::nn
