#include "viva/autograd/strided.h"

#include <algorithm>

namespace viva::autograd {
namespace {

// Calls row(first, place, length, stride) for every run along the last axis: elements first, first + 1, … of the
// contiguous side, and place, place + stride, … of the other.
template <typename Row>
void for_rows(const Shape& shape, const Strided& where, Row row) {
  const std::size_t outer = shape.empty() ? 0 : shape.size() - 1;
  const std::int64_t length = shape.empty() ? 1 : shape.back();
  const std::int64_t stride = shape.empty() ? 0 : where.strides.back();
  const std::int64_t count = element_count(shape);
  Shape index(outer, 0);
  std::int64_t place = where.offset;
  for (std::int64_t first = 0; first < count; first += length) {
    row(first, place, length, stride);
    for (std::size_t axis = outer; axis-- > 0;) {
      place += where.strides[axis];
      if (++index[axis] < shape[axis]) break;
      place -= shape[axis] * where.strides[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace

Strided contiguous(const Shape& shape) {
  Strided where{0, Shape(shape.size(), 1)};
  for (std::size_t axis = shape.size(); axis-- > 1;) where.strides[axis - 1] = where.strides[axis] * shape[axis];
  return where;
}

Strided expansion(const Shape& from, const Shape& to) {
  Strided where{0, Shape(to.size(), 0)};
  const Strided own = contiguous(from);
  const std::size_t missing = to.size() - from.size();
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis] != 1) where.strides[missing + axis] = own.strides[axis];
  }
  return where;
}

void gather(const Tensor& out, const Tensor& x, const Strided& where) {
  visit_dtype(x.dtype(), [&](auto type) {
    using T = decltype(type);
    const T* const from = x.values<T>().data();
    T* const to = out.mutable_values<T>().data();
    for_rows(out.shape(), where, [&](std::int64_t first, std::int64_t place, std::int64_t length, std::int64_t stride) {
      if (stride == 1) {
        std::copy(from + place, from + place + length, to + first);
      } else {
        for (std::int64_t i = 0; i < length; ++i) to[first + i] = from[place + i * stride];
      }
    });
  });
}

void scatter(const Tensor& out, const Strided& where, const Tensor& x) {
  visit_dtype(x.dtype(), [&](auto type) {
    using T = decltype(type);
    const T* const from = x.values<T>().data();
    T* const to = out.mutable_values<T>().data();
    for_rows(x.shape(), where, [&](std::int64_t first, std::int64_t place, std::int64_t length, std::int64_t stride) {
      for (std::int64_t i = 0; i < length; ++i) to[place + i * stride] = from[first + i];
    });
  });
}

void accumulate(const Tensor& out, const Strided& where, const Tensor& x) {
  visit_floating(x.dtype(), "accumulate", [&](auto type) {
    using T = decltype(type);
    const T* const from = x.values<T>().data();
    T* const to = out.mutable_values<T>().data();
    for_rows(x.shape(), where, [&](std::int64_t first, std::int64_t place, std::int64_t length, std::int64_t stride) {
      for (std::int64_t i = 0; i < length; ++i) to[place + i * stride] += from[first + i];
    });
  });
}

}  // namespace viva::autograd
