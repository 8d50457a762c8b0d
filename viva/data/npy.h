// NPY files, NumPy's format for one array.
//
// Grammar: 93 "NUMPY", version (two bytes: 1.0, 2.0 or 3.0), the header's length (unsigned little-endian; 16 bits in
// version 1.0, 32 bits in the others), the header, then the elements. The header is a Python dict with three members,
//   {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
// followed by white space. `descr` is the byte order (< little-endian, > big-endian, | none) and the type of an
// element.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "viva/tensor/tensor.h"

namespace viva::data {

// More axes than NumPy has.
inline constexpr std::size_t kMostNpyAxes = 64;

// A whole file: f4, f8, u1, i1, i2, i4, i8 in either byte order, and b1 as uint8; Fortran order becomes C order.
// IoError with path and offset for a file that is missing, damaged, of another type, or shorter or longer than its
// header says; sizes are checked before anything is allocated for them.
Tensor read_npy(const std::string& path);

// The same from bytes in memory, as if read from `path`.
Tensor parse_npy(std::span<const std::byte> bytes, const std::string& path);

// The bytes of a version 1.0 file, little-endian and in C order. InvalidShape for more than kMostNpyAxes axes.
std::vector<std::byte> npy_bytes(const Tensor& tensor);

}  // namespace viva::data
