// Float32 convolutions on oneDNN; see conv2d.h, whose channel_block() is here too.
#pragma once

#include "viva/tensor/conv2d.h"

namespace viva {

// As the operations of conv2d.h. `shape` has been checked; call within a KernelScope.
void dnnl_conv2d_forward(const Conv2dShape& shape, const float* input, const float* weight, const float* bias,
                         float* output, Arena& arena);
void dnnl_conv2d_backward_data(const Conv2dShape& shape, const float* grad_output, const float* weight,
                               float* grad_input, Arena& arena);
void dnnl_conv2d_backward_weights(const Conv2dShape& shape, const float* input, const float* grad_output,
                                  float* grad_weight, float* grad_bias, Arena& arena);

// Whether oneDNN has Winograd on this machine, for what winograd_available(): version 2 has it for AVX-512.
bool dnnl_has_winograd();

}  // namespace viva
