// Float32 convolutions of 3 x 3 by Winograd's minimal filtering, for processors and versions of oneDNN without it; see
// conv2d.h, whose winograd_available() is here too.
#pragma once

#include "viva/tensor/conv2d.h"

namespace viva {

// As the operations of conv2d.h, where winograd_available(). `shape` has been checked; call within a KernelScope.
void winograd_forward(const Conv2dShape& shape, const float* input, const float* weight, const float* bias,
                      float* output, Arena& arena);
void winograd_backward_data(const Conv2dShape& shape, const float* grad_output, const float* weight, float* grad_input,
                            Arena& arena);
void winograd_backward_weights(const Conv2dShape& shape, const float* input, const float* grad_output,
                               float* grad_weight, float* grad_bias, Arena& arena);

}  // namespace viva
