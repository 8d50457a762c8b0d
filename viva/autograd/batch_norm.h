// Batch normalisation (Ioffe, Szegedy, 2015).
#pragma once

#include "viva/autograd/tape.h"

namespace viva::autograd {

// Of each channel: (channels).
struct ChannelStatistics {
  Tensor mean, variance;
};

// x (n, channels, …): weight·(x - mean)/√(variance + eps) + bias with the mean and the variance of each channel over
// the batch, the variance as the mean of the squares. `statistics`, where it is not null, receives them, with the
// variance of n values over n - 1, as PyTorch's running statistics have it. weight and bias are (channels).
// InvalidShape where a channel has fewer than two values; ShapeMismatch, DtypeError.
Variable batch_norm(const Variable& x, const Variable& weight, const Variable& bias, double eps,
                    const ChannelStatistics* statistics = nullptr);

// The same with given statistics, which are constants.
Variable batch_norm_by(const ChannelStatistics& statistics, const Variable& x, const Variable& weight,
                       const Variable& bias, double eps);

}  // namespace viva::autograd
