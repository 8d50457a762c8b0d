// Tensor: a contiguous, row-major block of elements with a shape, cheap to copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "viva/base/aligned_buffer.h"
#include "viva/tensor/arena.h"
#include "viva/tensor/dtype.h"

namespace viva {

// The number of elements of `shape` (1 for a scalar). InvalidShape for a negative axis or a product beyond 2^62.
std::int64_t element_count(const Shape& shape);

// A copy shares the elements, and so does a view; clone() makes new ones. Elements are always contiguous.
//
// Threads: concurrent reads are safe. Who writes through mutable_values() sees to it that nobody reads meanwhile.
class Tensor {
 public:
  // No elements: shape [0], float32.
  Tensor();

  static Tensor zeros(Shape shape, Dtype dtype = Dtype::kFloat32);

  // `values` in row-major order; ShapeMismatch where their count does not fit `shape`.
  template <typename T>
  static Tensor from_values(const std::vector<T>& values, Shape shape) {
    return from_bytes(dtype_of<T>, std::as_bytes(std::span(values)), std::move(shape));
  }
  // One-dimensional.
  template <typename T>
  static Tensor from_values(const std::vector<T>& values) {
    return from_values(values, {static_cast<std::int64_t>(values.size())});
  }

  // A tensor over memory that somebody else laid out, beginning at `data` and kept alive by `owner`.
  static Tensor over(SharedBytes owner, std::byte* data, Shape shape, Dtype dtype);

  // Unspecified elements in memory of `arena`, valid until the arena is reset.
  static Tensor in(Arena& arena, Shape shape, Dtype dtype);

  const Shape& shape() const { return shape_; }
  Dtype dtype() const { return dtype_; }
  std::int64_t size() const { return size_; }
  std::size_t rank() const { return shape_.size(); }
  // The length of axis 0; InvalidShape for a scalar.
  std::int64_t length() const;

  // The elements; DtypeError where T is not the tensor's type.
  template <typename T>
  std::span<const T> values() const {
    expect_dtype(dtype_of<T>);
    return {reinterpret_cast<const T*>(data_), static_cast<std::size_t>(size_)};
  }
  // Writes are seen by every tensor that shares these elements.
  template <typename T>
  std::span<T> mutable_values() const {
    expect_dtype(dtype_of<T>);
    return {reinterpret_cast<T*>(data_), static_cast<std::size_t>(size_)};
  }
  std::span<const std::byte> bytes() const { return {data_, static_cast<std::size_t>(size_) * size_of(dtype_)}; }
  std::span<std::byte> mutable_bytes() const { return {data_, static_cast<std::size_t>(size_) * size_of(dtype_)}; }

  // The only element, as a double; InvalidShape where there is not exactly one.
  double item() const;

  // A view with another shape of as many elements; ShapeMismatch otherwise.
  Tensor reshape(Shape shape) const;
  // A view of rows [begin, end) of axis 0; IndexOutOfBounds outside.
  Tensor slice(std::int64_t begin, std::int64_t end) const;
  // A view of row i of axis 0, one axis fewer.
  Tensor row(std::int64_t i) const;

  Tensor clone() const;
  // A copy in another type, converted element by element as static_cast does.
  Tensor to(Dtype dtype) const;

 private:
  static Tensor from_bytes(Dtype dtype, std::span<const std::byte> bytes, Shape shape);
  void expect_dtype(Dtype dtype) const;

  SharedBytes owner_;
  std::byte* data_ = nullptr;
  Shape shape_;
  std::int64_t size_ = 0;
  Dtype dtype_ = Dtype::kFloat32;
};

// Same shape, same dtype, same bytes.
bool bitwise_equal(const Tensor& a, const Tensor& b);

}  // namespace viva
