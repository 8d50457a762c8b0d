// Layers over images: convolutions and pooling. An image is (n, channels, height, width).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "viva/autograd/convolution.h"
#include "viva/nn/module.h"

namespace viva::nn {

// Along height and width; one number stands for both.
struct Size2d {
  std::int64_t h = 0, w = 0;
  Size2d(std::int64_t both) : h(both), w(both) {}
  Size2d(std::int64_t height, std::int64_t width) : h(height), w(width) {}
};

struct Pool2dOptions {
  Size2d stride = 0;  // 0: the kernel's size
  Size2d padding = 0;
};

// The largest or the mean element of each window. InvalidShape; ShapeMismatch naming the layer.
class Pool2d final : public Module {
 public:
  enum class Kind { kMax, kAverage };
  Pool2d(Kind kind, Size2d kernel, const Pool2dOptions& options);
  void declare(Declarations& declarations) override { name_ = declarations.path(); }
  Variable forward(const Params& params, const Variable& x) const override;
  bool absorb_previous(const Module& previous) override;
  bool reads_channel_blocks() const override { return true; }
  void may_give_channel_blocks() override { give_blocks_ = true; }

  Kind kind() const { return kind_; }
  const Pool2dShape& settings() const { return settings_; }
  // What its results go through.
  autograd::Activation activation() const { return activation_; }

 private:
  Kind kind_;
  Pool2dShape settings_;
  autograd::Activation activation_ = autograd::Activation::kNone;
  bool give_blocks_ = false;
  std::string name_;
};

Pool2d MaxPool2d(Size2d kernel, const Pool2dOptions& options = {});
// Padding counts as zeros (PyTorch's count_include_pad).
Pool2d AveragePool2d(Size2d kernel, const Pool2dOptions& options = {});

struct Conv2dOptions {
  Size2d stride = 1, padding = 0, dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  // Where it means something (winograd_available in viva/tensor/conv2d.h); elsewhere the direct algorithm is used.
  Conv2dAlgorithm algorithm = Conv2dAlgorithm::kWinograd;
};

// (n, in, h, w) → (n, out, out h, out w) with weight (out, in / groups, kernel h, kernel w) and bias (out), both
// uniform in ±1/√fan_in at first (PyTorch's default). InvalidShape for impossible settings; ShapeMismatch naming the
// layer.
class Conv2d final : public Module {
 public:
  Conv2d(std::int64_t in, std::int64_t out, Size2d kernel, const Conv2dOptions& options = {});
  void declare(Declarations& declarations) override;
  Variable forward(const Params& params, const Variable& x) const override;
  bool absorb_next(const Module& next) override;
  bool reads_channel_blocks() const override;
  void may_give_channel_blocks() override { give_blocks_ = true; }

 private:
  std::int64_t in_, out_;
  Size2d kernel_;
  bool bias_wanted_;
  Conv2dShape settings_;
  std::optional<Pool2d> pool_;  // the one that follows
  bool give_blocks_ = false;
  std::string name_;
  std::size_t weight_ = 0, bias_ = 0;
};

// The mean of each channel: (n, channels, h, w) → (n, channels).
class GlobalAveragePool2d final : public Module {
 public:
  void declare(Declarations& declarations) override { name_ = declarations.path(); }
  Variable forward(const Params& params, const Variable& x) const override;
  bool reads_channel_blocks() const override { return true; }

 private:
  std::string name_;
};

}  // namespace viva::nn
