// MemoryFile: bytes that travel between processes as a file descriptor, and never through a file system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "viva/base/aligned_buffer.h"
#include "viva/base/descriptor.h"

namespace viva {

// An anonymous file (memfd_create(2)) with these bytes, one behind the other, that nobody can change any more. It goes
// with its last descriptor and its last mapping. std::system_error where the system gives no such file, or no memory.
Descriptor make_memory_file(std::span<const std::span<const std::byte>> pieces);

// The bytes of such a file, read-only, mapped as long as `owner` or a copy of it exists.
struct MappedBytes {
  SharedBytes owner;
  std::span<const std::byte> bytes;
};

// Error for a descriptor that is no memory file, or one that could still be changed.
MappedBytes map_memory_file(const Descriptor& file);

}  // namespace viva
