// Named tensors in a safetensors file, as Python's safetensors reads and writes it.
//
// Grammar: the header's length (unsigned 64-bit little-endian), the header (a JSON object in UTF-8, possibly followed
// by spaces), the tensors' elements (row-major, little-endian). The header has for every tensor
//   "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}
// with offsets in bytes from the header's end, and possibly "__metadata__", an object of strings. The tensors cover all
// bytes behind the header, without gaps and without overlaps.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "viva/optim/param.h"

namespace viva::io {

// Writes the tensors in their order, atomically (see AtomicFile). IoError; DimensionError for a name that occurs twice,
// is no UTF-8, or is "__metadata__".
void write_safetensors(const std::string& path, std::span<const Param> params);

// The bytes of such a file in pieces, one behind the other: what the tensors hold is not copied.
struct SafetensorsBytes {
  std::string start;  // all before the elements
  std::vector<std::span<const std::byte>> pieces;
};
SafetensorsBytes make_safetensors(std::span<const Param> params, const std::string& path);

// All tensors, in the order of their elements in the file. A file that breaks the grammar in any way, or has a dtype
// that viva has not, is an IoError that names the tensor; nothing is allocated beyond the file's own size.
std::vector<Param> read_safetensors(const std::string& path);

// The same from bytes in memory, as if read from `path`.
std::vector<Param> parse_safetensors(std::span<const std::byte> bytes, const std::string& path);

}  // namespace viva::io
