// A tensor's elements visited in another order: what lies under transposing, slicing, expanding and reducing.
#pragma once

#include "viva/tensor/tensor.h"

namespace viva::autograd {

// Where the element with index (i0, i1, …) of a shape lies in some tensor: at offset + i0·strides[0] + i1·strides[1] …
struct Strided {
  std::int64_t offset = 0;
  Shape strides;  // in elements; 0 repeats an element along an axis
};

// The strides of a contiguous tensor of this shape.
Strided contiguous(const Shape& shape);
// Where the elements of a contiguous tensor lie for an index of the shape that it broadcasts to.
Strided expansion(const Shape& from, const Shape& to);

// out[i] = x[where(i)] for every index i of out's shape. Any one dtype.
void gather(const Tensor& out, const Tensor& x, const Strided& where);
// out[where(i)] = x[i] for every index i of x's shape.
void scatter(const Tensor& out, const Strided& where, const Tensor& x);
// out[where(i)] += x[i], in the row-major order of i. float32 or float64.
void accumulate(const Tensor& out, const Strided& where, const Tensor& x);

}  // namespace viva::autograd
