// What stands before the elements of an NPY file (see npy.h for the grammar).
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "viva/tensor/dtype.h"

namespace viva::data {

struct NpyHeader {
  Dtype dtype = Dtype::kFloat32;
  bool big_endian = false;
  bool fortran_order = false;
  Shape shape;
  std::size_t size = 0;  // bytes before the elements
};

// The header of `bytes`, the contents of `path`; the elements are not looked at. IoError.
NpyHeader parse_npy_header(std::span<const std::byte> bytes, const std::string& path);

// The bytes before the elements of a version 1.0 file: little-endian, C order, a multiple of 64 bytes.
std::string make_npy_header(Dtype dtype, const Shape& shape);

}  // namespace viva::data
