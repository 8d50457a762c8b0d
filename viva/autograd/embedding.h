// Rows of a table by their numbers.
#pragma once

#include <string_view>

#include "viva/autograd/tape.h"

namespace viva::autograd {

// table (count, width) and indices (…) int32: (…, width). The gradients of rows that occur several times are added in
// the order of the indices. IndexOutOfBounds naming the sample (the index's place on the first axis) for a number that
// is no row's, behind what `where` says.
Variable embedding(const Variable& table, const Tensor& indices, std::string_view where = "embedding");

}  // namespace viva::autograd
