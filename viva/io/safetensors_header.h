// The header of a safetensors file: JSON text to checked entries and back.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "viva/optim/param.h"

namespace viva::io {

inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;
// Bytes in front of the header: its length.
inline constexpr std::uint64_t kSafetensorsPrefix = 8;

struct SafetensorsEntry {
  std::string name;
  Dtype dtype = Dtype::kFloat32;
  Shape shape;
  std::uint64_t begin = 0, end = 0;  // bytes, from the header's end
};

// The entries in the order of their elements, which cover 0 … data_size without gap or overlap; everything else is an
// IoError.
std::vector<SafetensorsEntry> parse_safetensors_header(std::string_view header, std::uint64_t data_size,
                                                       const std::string& path);

// The header of these tensors, written one behind the other; padded with spaces to a multiple of eight bytes.
std::string make_safetensors_header(std::span<const Param> params, const std::string& path);

}  // namespace viva::io
