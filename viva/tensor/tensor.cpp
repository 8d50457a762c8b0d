#include "viva/tensor/tensor.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace viva {
namespace {

struct DtypeInfo {
  std::string_view name;
  std::size_t size;
};

// In the order of the enumeration.
constexpr std::array<DtypeInfo, 7> kDtypes{
    {{"float32", 4}, {"float64", 8}, {"uint8", 1}, {"int8", 1}, {"int16", 2}, {"int32", 4}, {"int64", 8}}};

constexpr std::int64_t kMostElements = std::int64_t{1} << 62;

}  // namespace

std::size_t size_of(Dtype dtype) { return kDtypes.at(static_cast<std::size_t>(dtype)).size; }

std::string_view name_of(Dtype dtype) { return kDtypes.at(static_cast<std::size_t>(dtype)).name; }

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t axis : shape) {
    if (axis < 0) throw InvalidShape(fmt::format("shape {} has a negative axis", to_string(shape)));
    // An axis of zero empties the tensor, but must not hide an overflow in the others.
    const std::int64_t factor = std::max<std::int64_t>(axis, 1);
    if (count > kMostElements / factor)
      throw InvalidShape(fmt::format("shape {} has too many elements", to_string(shape)));
    count *= factor;
  }
  return std::find(shape.begin(), shape.end(), 0) != shape.end() ? 0 : count;
}

namespace {

// The bytes must be countable too, or a small block would pass for a huge tensor.
std::size_t byte_count(const Shape& shape, Dtype dtype) {
  const auto count = static_cast<std::size_t>(element_count(shape));
  if (count > static_cast<std::size_t>(kMostElements) / size_of(dtype)) {
    throw InvalidShape(fmt::format("shape {} of {} has too many bytes", to_string(shape), name_of(dtype)));
  }
  return count * size_of(dtype);
}

}  // namespace

Tensor::Tensor() : shape_{0} {}

Tensor Tensor::over(SharedBytes owner, std::byte* data, Shape shape, Dtype dtype) {
  Tensor tensor;
  tensor.size_ = element_count(shape);
  tensor.owner_ = std::move(owner);
  tensor.data_ = data;
  tensor.shape_ = std::move(shape);
  tensor.dtype_ = dtype;
  return tensor;
}

Tensor Tensor::zeros(Shape shape, Dtype dtype) {
  SharedBytes bytes = make_aligned_bytes(byte_count(shape, dtype));
  std::byte* data = bytes.get();
  return over(std::move(bytes), data, std::move(shape), dtype);
}

Tensor Tensor::in(Arena& arena, Shape shape, Dtype dtype) {
  std::byte* data = arena.allocate<std::byte>(byte_count(shape, dtype)).data();
  return over(nullptr, data, std::move(shape), dtype);
}

Tensor Tensor::from_bytes(Dtype dtype, std::span<const std::byte> bytes, Shape shape) {
  const auto count = static_cast<std::int64_t>(bytes.size() / size_of(dtype));
  if (element_count(shape) != count) throw ShapeMismatch("Tensor::from_values", std::move(shape), {count});
  Tensor tensor = zeros(std::move(shape), dtype);
  std::copy(bytes.begin(), bytes.end(), tensor.data_);
  return tensor;
}

void Tensor::expect_dtype(Dtype dtype) const {
  if (dtype != dtype_) {
    throw DtypeError(fmt::format("expected a tensor of {}, got one of {}", name_of(dtype), name_of(dtype_)));
  }
}

std::int64_t Tensor::length() const {
  if (shape_.empty()) throw InvalidShape("a scalar has no axis 0");
  return shape_.front();
}

double Tensor::item() const {
  if (size_ != 1) throw InvalidShape(fmt::format("item() needs one element, shape is {}", to_string(shape_)));
  return visit_dtype(dtype_, [this](auto type) { return static_cast<double>(values<decltype(type)>()[0]); });
}

Tensor Tensor::reshape(Shape shape) const {
  if (element_count(shape) != size_) throw ShapeMismatch("Tensor::reshape", std::move(shape), shape_);
  return over(owner_, data_, std::move(shape), dtype_);
}

Tensor Tensor::slice(std::int64_t begin, std::int64_t end) const {
  const std::int64_t rows = length();
  if (begin < 0 || begin > rows) throw IndexOutOfBounds("Tensor::slice begin", begin, rows);
  if (end < begin || end > rows) throw IndexOutOfBounds("Tensor::slice end", end, rows);
  const std::int64_t row_size = rows == 0 ? 0 : size_ / rows;
  Shape shape = shape_;
  shape.front() = end - begin;
  std::byte* data = data_ == nullptr ? nullptr : data_ + static_cast<std::size_t>(begin * row_size) * size_of(dtype_);
  return over(owner_, data, std::move(shape), dtype_);
}

Tensor Tensor::row(std::int64_t i) const {
  if (i < 0 || i >= length()) throw IndexOutOfBounds("Tensor::row", i, length());
  return slice(i, i + 1).reshape(Shape(shape_.begin() + 1, shape_.end()));
}

Tensor Tensor::clone() const {
  Tensor copy = zeros(shape_, dtype_);
  std::copy(bytes().begin(), bytes().end(), copy.data_);
  return copy;
}

Tensor Tensor::to(Dtype dtype) const {
  if (dtype == dtype_) return clone();
  Tensor converted = zeros(shape_, dtype);
  visit_dtype(dtype_, [&](auto from) {
    visit_dtype(dtype, [&](auto to) {
      const auto source = values<decltype(from)>();
      std::transform(source.begin(), source.end(), converted.mutable_values<decltype(to)>().begin(),
                     [](auto value) { return static_cast<decltype(to)>(value); });
    });
  });
  return converted;
}

bool bitwise_equal(const Tensor& a, const Tensor& b) {
  const auto x = a.bytes(), y = b.bytes();
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::equal(x.begin(), x.end(), y.begin(), y.end());
}

}  // namespace viva
