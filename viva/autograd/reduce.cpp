#include "viva/autograd/reduce.h"

#include <algorithm>
#include <cmath>

#include "viva/autograd/pointwise.h"
#include "viva/autograd/pointwise_kernels.h"
#include "viva/autograd/shape.h"
#include "viva/autograd/strided.h"

namespace viva::autograd {
namespace {

// A shape around one axis: (outer, length, inner).
struct ReduceExtents {
  std::int64_t outer = 1, length = 1, inner = 1;
  std::int64_t at(std::int64_t o, std::int64_t k, std::int64_t i) const { return (o * length + k) * inner + i; }
};

ReduceExtents extents(const Shape& shape, std::size_t axis) {
  ReduceExtents e;
  for (std::size_t i = 0; i < axis; ++i) e.outer *= shape[i];
  e.length = shape[axis];
  for (std::size_t i = axis + 1; i < shape.size(); ++i) e.inner *= shape[i];
  return e;
}

Shape reduced(Shape shape, std::size_t axis, ReduceOptions options) {
  if (options.keep_axis) {
    shape[axis] = 1;
  } else {
    shape.erase(shape.begin() + axis);
  }
  return shape;
}

// The chains of one output run side by side over `inner`; where there is only one, its sum is kept in double.
template <typename T>
void sum_kernel(const T* x, T* out, const ReduceExtents& e) {
  for (std::int64_t o = 0; o < e.outer; ++o) {
    if (e.inner == 1) {
      double total = 0;
      for (std::int64_t k = 0; k < e.length; ++k) total += static_cast<double>(x[e.at(o, k, 0)]);
      out[o] = static_cast<T>(total);
      continue;
    }
    T* const row = out + o * e.inner;
    std::fill(row, row + e.inner, T{0});
    for (std::int64_t k = 0; k < e.length; ++k) {
      for (std::int64_t i = 0; i < e.inner; ++i) row[i] += x[e.at(o, k, i)];
    }
  }
}

// The place of each maximum along the axis; a NaN is larger than any number.
template <typename T>
void max_kernel(const T* x, T* out, std::int64_t* places, const ReduceExtents& e) {
  for (std::int64_t o = 0; o < e.outer; ++o) {
    for (std::int64_t i = 0; i < e.inner; ++i) {
      std::int64_t best = 0;
      for (std::int64_t k = 1; k < e.length; ++k) {
        const T candidate = x[e.at(o, k, i)], champion = x[e.at(o, best, i)];
        if (candidate > champion || (std::isnan(candidate) && !std::isnan(champion))) best = k;
      }
      places[o * e.inner + i] = e.at(o, best, i);
      out[o * e.inner + i] = x[e.at(o, best, i)];
    }
  }
}

}  // namespace

Variable sum(const Variable& x, std::int64_t axis, ReduceOptions options) {
  const std::size_t a = axis_of(axis, x.rank(), "sum");
  const ReduceExtents e = extents(x.shape(), a);
  const Tensor y = x.tape().allocate(reduced(x.shape(), a, options), x.dtype());
  visit_floating(x.dtype(), "sum", [&](auto type) {
    using T = decltype(type);
    sum_kernel(x.value().values<T>().data(), y.mutable_values<T>().data(), e);
  });
  return x.tape().record(y, {x}, [x, a](Gradients& gradients) {
    gradients.add(x, [&](const Tensor& out) {
      Shape summed = out.shape();
      summed[a] = 1;
      gather(out, gradients.output(), expansion(summed, out.shape()));
    });
  });
}

Variable sum(const Variable& x) { return reshape(sum(reshape(x, {1, x.size()}), 1), {}); }

Variable mean(const Variable& x, std::int64_t axis, ReduceOptions options) {
  const std::int64_t length = x.shape()[axis_of(axis, x.rank(), "mean")];
  if (length == 0) throw InvalidShape("mean: an axis of length 0 in " + to_string(x.shape()));
  return sum(x, axis, options) / static_cast<double>(length);
}

Variable mean(const Variable& x) {
  if (x.size() == 0) throw InvalidShape("mean: no elements in " + to_string(x.shape()));
  return sum(x) / static_cast<double>(x.size());
}

Variable max(const Variable& x, std::int64_t axis, ReduceOptions options) {
  const std::size_t a = axis_of(axis, x.rank(), "max");
  const ReduceExtents e = extents(x.shape(), a);
  if (e.length == 0) throw InvalidShape("max: an axis of length 0 in " + to_string(x.shape()));
  const Tensor y = x.tape().allocate(reduced(x.shape(), a, options), x.dtype());
  const auto places = x.tape().arena().allocate<std::int64_t>(static_cast<std::size_t>(y.size()));
  visit_floating(x.dtype(), "max", [&](auto type) {
    using T = decltype(type);
    max_kernel(x.value().values<T>().data(), y.mutable_values<T>().data(), places.data(), e);
  });
  return x.tape().record(y, {x}, [x, places](Gradients& gradients) {
    gradients.add(x, [&](const Tensor& out) {
      fill(out, 0);
      visit_floating(out.dtype(), "max", [&](auto type) {
        using T = decltype(type);
        const auto dy = gradients.output().values<T>();
        const auto dx = out.mutable_values<T>();
        for (std::size_t i = 0; i < places.size(); ++i) dx[static_cast<std::size_t>(places[i])] = dy[i];
      });
    });
  });
}

}  // namespace viva::autograd
