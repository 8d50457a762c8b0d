#include "viva/data/file_bytes.h"

#include <fmt/format.h>

#include <new>

#include "viva/base/error.h"
#include "viva/base/input_file.h"

namespace viva::data {

FileBytes allocate_for_file(const std::string& path, std::size_t size) {
  try {
    return {make_aligned_bytes(size), size};
  } catch (const std::bad_alloc&) {
    throw IoError(path, -1, fmt::format("its contents need {} bytes of memory, more than this process can have", size));
  }
}

FileBytes read_file(const std::string& path) {
  const InputFile file(path);
  FileBytes bytes = allocate_for_file(path, file.size());
  file.read_at(0, {bytes.data.get(), bytes.size});
  return bytes;
}

}  // namespace viva::data
