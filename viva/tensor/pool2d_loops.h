// The vector loops behind pool2d.h, for the instruction set found at run time.
#pragma once

#include <cstdint>

#include "viva/tensor/pool2d.h"

namespace viva::pool2d_loops {

// As the functions of pool2d.h, but `shape` has been checked, and gradients are added to grad_input.
void max_forward(const Pool2dShape& shape, const float* input, float* output, std::uint16_t* index);
void max_forward(const Pool2dShape& shape, const double* input, double* output, std::uint16_t* index);
void max_backward(const Pool2dShape& shape, const float* grad_output, const std::uint16_t* index, float* grad_input);
void max_backward(const Pool2dShape& shape, const double* grad_output, const std::uint16_t* index, double* grad_input);
void average_forward(const Pool2dShape& shape, const float* input, float* output);
void average_forward(const Pool2dShape& shape, const double* input, double* output);
void average_backward(const Pool2dShape& shape, const float* grad_output, float* grad_input);
void average_backward(const Pool2dShape& shape, const double* grad_output, double* grad_input);

}  // namespace viva::pool2d_loops
