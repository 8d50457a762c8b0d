#include "viva/autograd/shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "viva/autograd/pointwise_kernels.h"
#include "viva/autograd/strided.h"

namespace viva::autograd {
namespace {

// Where the elements of x, transposed, lie in x.
Strided permuted(const Shape& shape, const std::int64_t* axes) {
  const Strided own = contiguous(shape);
  Strided where{0, Shape(shape.size(), 0)};
  for (std::size_t i = 0; i < shape.size(); ++i) where.strides[i] = own.strides[static_cast<std::size_t>(axes[i])];
  return where;
}

Strided part_of(const Shape& whole, std::size_t axis, std::int64_t begin) {
  Strided where = contiguous(whole);
  where.offset = begin * where.strides[axis];
  return where;
}

}  // namespace

Shape broadcast_shape(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape shape = longer;
  const std::size_t missing = longer.size() - shorter.size();
  for (std::size_t axis = 0; axis < shorter.size(); ++axis) {
    std::int64_t& length = shape[missing + axis];
    if (length == 1) {
      length = shorter[axis];
    } else if (shorter[axis] != 1 && shorter[axis] != length) {
      throw BroadcastError(a, b);
    }
  }
  return shape;
}

std::size_t axis_of(std::int64_t axis, std::size_t rank, const char* where) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) throw IndexOutOfBounds(fmt::format("{}: axis", where), axis, count);
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

Variable expand(const Variable& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  if (x.rank() > shape.size() || broadcast_shape(x.shape(), shape) != shape) throw BroadcastError(x.shape(), shape);
  Tape& tape = x.tape();
  const Tensor y = tape.allocate(shape, x.dtype());
  gather(y, x.value(), expansion(x.shape(), shape));
  return tape.record(y, {x}, [x](Gradients& gradients) {
    gradients.add(x, [&](const Tensor& out) {
      fill(out, 0);
      accumulate(out, expansion(out.shape(), gradients.output().shape()), gradients.output());
    });
  });
}

Variable reshape(const Variable& x, Shape shape) {
  const auto open = std::find(shape.begin(), shape.end(), -1);
  if (open != shape.end()) {
    *open = 1;
    const std::int64_t known = element_count(shape);
    *open = known == 0 ? 0 : x.size() / known;
  }
  return x.tape().record(x.value().reshape(std::move(shape)), {x}, [x](Gradients& gradients) {
    gradients.add_last(x, [&](const Tensor& out) { copy(gradients.output(), out); });
  });
}

Variable flatten(const Variable& x) {
  if (x.rank() == 0) throw InvalidShape("flatten: expected at least one axis, got a scalar");
  return reshape(x, {x.shape().front(), element_count(Shape(x.shape().begin() + 1, x.shape().end()))});
}

Variable transpose(const Variable& x, const Shape& axes) {
  Shape sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  bool permutation = axes.size() == x.rank();
  for (std::size_t i = 0; permutation && i < sorted.size(); ++i) {
    permutation = sorted[i] == static_cast<std::int64_t>(i);
  }
  if (!permutation) {
    throw InvalidShape(
        fmt::format("transpose: expected a permutation of the {} axes, got {}", x.rank(), to_string(axes)));
  }
  Tape& tape = x.tape();
  Shape shape(axes.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) shape[i] = x.shape()[static_cast<std::size_t>(axes[i])];
  const Tensor y = tape.allocate(shape, x.dtype());
  const auto kept = tape.arena().allocate<std::int64_t>(axes.size());
  std::copy(axes.begin(), axes.end(), kept.begin());
  gather(y, x.value(), permuted(x.shape(), kept.data()));
  return tape.record(y, {x}, [x, kept = kept.data()](Gradients& gradients) {
    gradients.add(x, [&](const Tensor& out) { scatter(out, permuted(out.shape(), kept), gradients.output()); });
  });
}

Variable transpose(const Variable& x) {
  if (x.rank() < 2) throw InvalidShape("transpose: expected at least two axes, got " + to_string(x.shape()));
  Shape axes(x.rank(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return transpose(x, axes);
}

Variable slice(const Variable& x, std::int64_t axis, std::int64_t begin, std::int64_t end) {
  const std::size_t a = axis_of(axis, x.rank(), "slice");
  const std::int64_t length = x.shape()[a];
  if (begin < 0 || begin > length) throw IndexOutOfBounds("slice: begin", begin, length);
  if (end < begin || end > length) throw IndexOutOfBounds("slice: end", end, length);
  Tape& tape = x.tape();
  Shape shape = x.shape();
  shape[a] = end - begin;
  const Tensor y = tape.allocate(shape, x.dtype());
  gather(y, x.value(), part_of(x.shape(), a, begin));
  return tape.record(y, {x}, [x, a, begin](Gradients& gradients) {
    gradients.add(x, [&](const Tensor& out) {
      fill(out, 0);
      scatter(out, part_of(out.shape(), a, begin), gradients.output());
    });
  });
}

Variable concatenate(std::span<const Variable> parts, std::int64_t axis) {
  if (parts.empty()) throw DimensionError("concatenate: expected at least one part");
  const Variable& first = parts.front();
  Tape& tape = first.tape();
  const std::size_t a = axis_of(axis, first.rank(), "concatenate");
  Shape shape = first.shape();
  shape[a] = 0;
  bool wanted = false;
  for (const Variable& part : parts) {
    Shape expected = first.shape();
    if (part.rank() == first.rank()) expected[a] = part.shape()[a];
    if (part.shape() != expected) throw ShapeMismatch("concatenate: a part", expected, part.shape());
    shape[a] += part.shape()[a];
    wanted = wanted || part.requires_grad();
  }
  const Tensor y = tape.allocate(shape, first.dtype());
  std::int64_t begin = 0;
  for (const Variable& part : parts) {
    scatter(y, part_of(shape, a, begin), part.value());
    begin += part.shape()[a];
  }
  // Any part that wants a gradient stands for all as the operand.
  const Variable* const operand = &*std::ranges::find(parts, wanted, &Variable::requires_grad);
  const auto kept = tape.arena().allocate<Variable>(parts.size());
  std::ranges::copy(parts, kept.begin());
  return tape.record(y, {*operand}, [kept, a](Gradients& gradients) {
    std::int64_t at = 0;
    for (const Variable& part : kept) {
      gradients.add(part, [&](const Tensor& out) {
        gather(out, gradients.output(), part_of(gradients.output().shape(), a, at));
      });
      at += part.shape()[a];
    }
  });
}

}  // namespace viva::autograd
