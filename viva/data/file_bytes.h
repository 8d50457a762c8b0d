// The bytes of a whole file, and memory whose size a file asked for.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "viva/base/aligned_buffer.h"

namespace viva::data {

struct FileBytes {
  SharedBytes data;
  std::size_t size = 0;
  std::span<const std::byte> span() const { return {data.get(), size}; }
};

// `size` zeroed bytes for the contents of `path`; IoError where there is not so much memory.
FileBytes allocate_for_file(const std::string& path, std::size_t size);

// All of a regular file; the IoErrors of InputFile.
FileBytes read_file(const std::string& path);

}  // namespace viva::data
