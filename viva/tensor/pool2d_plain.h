// The loops behind pool2d.h over images in PyTorch's layout: a vector is a row of windows.
#pragma once

#include <cstdint>

#include "viva/tensor/pool2d.h"

namespace viva::pool2d_plain {

// As the functions of pool2d.h; `shape` has been checked.
void max_forward(const Pool2dShape& shape, const float* input, float* output, std::uint16_t* index);
void max_forward(const Pool2dShape& shape, const double* input, double* output, std::uint16_t* index);
void max_backward(const Pool2dShape& shape, const float* grad_output, const std::uint16_t* index, float* grad_input);
void max_backward(const Pool2dShape& shape, const double* grad_output, const std::uint16_t* index, double* grad_input);
void average_forward(const Pool2dShape& shape, const float* input, float* output);
void average_forward(const Pool2dShape& shape, const double* input, double* output);
void average_backward(const Pool2dShape& shape, const float* grad_output, float* grad_input);
void average_backward(const Pool2dShape& shape, const double* grad_output, double* grad_input);

}  // namespace viva::pool2d_plain
