// Weight gradients of 3 x 3 convolutions on few channels, as an image has them. oneDNN's kernels for AVX2 fill the
// channels up to eight first.
#pragma once

#include "viva/tensor/conv2d.h"

namespace viva {

// Float32, up to four input channels, stride and dilation 1, one group, output in blocks of channels.
bool is_shallow(const Conv2dShape& shape);

// As conv2d_backward_weights(), where is_shallow(). `shape` has been checked; call within a KernelScope.
void shallow_backward_weights(const Conv2dShape& shape, const float* input, const float* grad_output,
                              float* grad_weight, float* grad_bias, Arena& arena);

}  // namespace viva
