// The digest: one line that two sets of parameters share exactly when they are equal to the last bit.
//
// SHA-256 over these bytes, with all numbers as unsigned 64-bit little-endian:
//   digest    = "viva-params-1\n" parameter*          sorted by name, byte by byte
//   parameter = length name                           UTF-8 bytes, no terminator
//               length dtype                          "float32", "float64", "int32", …
//               rank dimension*                       outermost first
//               length elements                       row-major, little-endian
#pragma once

#include <span>
#include <string>

#include "viva/optim/param.h"

namespace viva::io {

// 64 lowercase hexadecimal digits. The parameters' order does not matter; a name that occurs twice is a DimensionError.
std::string digest(std::span<const Param> params);

}  // namespace viva::io
