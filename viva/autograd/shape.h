// Operations that move elements and compute nothing. A negative axis counts from the last one.
#pragma once

#include <span>

#include "viva/autograd/tape.h"

namespace viva::autograd {

// The shape that both broadcast to; BroadcastError.
Shape broadcast_shape(const Shape& a, const Shape& b);

// The axis as a number from 0; IndexOutOfBounds.
std::size_t axis_of(std::int64_t axis, std::size_t rank, const char* where);

// x repeated along axes of 1 and missing leading ones; BroadcastError where it does not broadcast to `shape`.
Variable expand(const Variable& x, const Shape& shape);

// As many elements in another shape; one axis may be -1, for what is left. ShapeMismatch.
Variable reshape(const Variable& x, Shape shape);

// (n, …) to (n, product of the rest).
Variable flatten(const Variable& x);

// Axis i of the result is axis axes[i] of x; without axes the last two change places. InvalidShape where `axes` is no
// permutation.
Variable transpose(const Variable& x, const Shape& axes);
Variable transpose(const Variable& x);

// [begin, end) of one axis; IndexOutOfBounds.
Variable slice(const Variable& x, std::int64_t axis, std::int64_t begin, std::int64_t end);

// Joined along an axis; every other axis is equal (ShapeMismatch). At least one part (DimensionError).
Variable concatenate(std::span<const Variable> parts, std::int64_t axis);

}  // namespace viva::autograd
