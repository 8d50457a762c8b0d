#pragma once

#include <gtest/gtest.h>

namespace viva {

// The types of typed tests of kernels.
using Floating = testing::Types<float, double>;

}  // namespace viva
