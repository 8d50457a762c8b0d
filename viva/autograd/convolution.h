// Convolutions and pooling of images.
//
// An image is (n, channels, height, width), or the same in blocks of b channels: (n, channels / b, height, width, b).
// Operations take both; conv2d gives the second where its settings ask for it. Between operations of float32 that is
// quicker: see viva/tensor/conv2d.h.
#pragma once

#include <optional>

#include "viva/autograd/matmul.h"
#include "viva/autograd/tape.h"
#include "viva/tensor/conv2d.h"
#include "viva/tensor/pool2d.h"

namespace viva::autograd {

// x is (n, in, h, w), weight (out, in / groups, kernel h, kernel w), bias (out): (n, out, out h, out w). Of `settings`
// only strides, paddings, dilations, groups, relu, algorithm and output_block count; the precision is the tape's.
// ShapeMismatch, InvalidShape, DtypeError.
Variable conv2d(const Variable& x, const Variable& weight, const std::optional<Variable>& bias,
                const Conv2dShape& settings = {});

// Of `settings` only kernels, strides and paddings count. The result is in blocks where x is. InvalidShape. With a
// ReLU, the largest element of each window then goes through it; that is the same as a ReLU before, and cheaper.
Variable max_pool2d(const Variable& x, const Pool2dShape& settings, Activation activation = Activation::kNone);
// max_pool2d of conv2d without a ReLU, bit for bit, a few samples at a time: the convolution's output stays in the
// cache and is not kept.
Variable conv2d_max_pool2d(const Variable& x, const Variable& weight, const std::optional<Variable>& bias,
                           const Conv2dShape& settings, const Pool2dShape& pool,
                           Activation activation = Activation::kNone);
Variable average_pool2d(const Variable& x, const Pool2dShape& settings);
// The mean of each channel: (n, channels).
Variable global_average_pool2d(const Variable& x);

// An image in blocks of channels as (n, channels, height, width); one that is so already stays as it is.
Variable from_channel_blocks(const Variable& x);

}  // namespace viva::autograd
