// Element types of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "viva/base/error.h"

namespace viva {

enum class Dtype { kFloat32, kFloat64, kUInt8, kInt8, kInt16, kInt32, kInt64 };

// Bytes of one element.
std::size_t size_of(Dtype dtype);

// "float32", "uint8", ….
std::string_view name_of(Dtype dtype);

constexpr bool is_floating(Dtype dtype) { return dtype == Dtype::kFloat32 || dtype == Dtype::kFloat64; }

template <typename T>
struct DtypeOf;
template <>
struct DtypeOf<float> {
  static constexpr Dtype value = Dtype::kFloat32;
};
template <>
struct DtypeOf<double> {
  static constexpr Dtype value = Dtype::kFloat64;
};
template <>
struct DtypeOf<std::uint8_t> {
  static constexpr Dtype value = Dtype::kUInt8;
};
template <>
struct DtypeOf<std::int8_t> {
  static constexpr Dtype value = Dtype::kInt8;
};
template <>
struct DtypeOf<std::int16_t> {
  static constexpr Dtype value = Dtype::kInt16;
};
template <>
struct DtypeOf<std::int32_t> {
  static constexpr Dtype value = Dtype::kInt32;
};
template <>
struct DtypeOf<std::int64_t> {
  static constexpr Dtype value = Dtype::kInt64;
};

template <typename T>
inline constexpr Dtype dtype_of = DtypeOf<T>::value;

// Calls f(T{}) with the C++ type of `dtype` and returns what it returns.
template <typename F>
decltype(auto) visit_dtype(Dtype dtype, F&& f) {
  switch (dtype) {
    case Dtype::kFloat32:
      return std::forward<F>(f)(float{});
    case Dtype::kFloat64:
      return std::forward<F>(f)(double{});
    case Dtype::kUInt8:
      return std::forward<F>(f)(std::uint8_t{});
    case Dtype::kInt8:
      return std::forward<F>(f)(std::int8_t{});
    case Dtype::kInt16:
      return std::forward<F>(f)(std::int16_t{});
    case Dtype::kInt32:
      return std::forward<F>(f)(std::int32_t{});
    case Dtype::kInt64:
      return std::forward<F>(f)(std::int64_t{});
  }
  throw DtypeError("a dtype outside the enumeration");
}

// visit_dtype over the two floating types; DtypeError naming `where` for another one.
template <typename F>
decltype(auto) visit_floating(Dtype dtype, std::string_view where, F&& f) {
  if (dtype == Dtype::kFloat32) return std::forward<F>(f)(float{});
  if (dtype == Dtype::kFloat64) return std::forward<F>(f)(double{});
  throw DtypeError(std::string(where) + ": expected float32 or float64, got " + std::string(name_of(dtype)));
}

}  // namespace viva
