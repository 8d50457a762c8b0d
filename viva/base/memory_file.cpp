#include "viva/base/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "viva/base/error.h"

namespace viva {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

}  // namespace

Descriptor make_memory_file(std::span<const std::span<const std::byte>> pieces) {
  Descriptor file(::memfd_create("viva", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.open()) fail("viva: cannot make a memory file");
  for (const auto piece : pieces) {
    if (!write_all(file.get(), piece)) fail("viva: cannot write a memory file");
  }
  if (::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) fail("viva: cannot seal a memory file");
  return file;
}

MappedBytes map_memory_file(const Descriptor& file) {
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  struct stat status = {};
  if (seals < 0 || (seals & kSeals) != kSeals || ::fstat(file.get(), &status) != 0) {
    throw Error("memory file: expected a descriptor of a sealed one");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return {};
  void* const begin = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (begin == MAP_FAILED) fail("viva: cannot map a memory file");
  auto* const bytes = static_cast<std::byte*>(begin);
  return {SharedBytes(bytes, [size](std::byte* mapped) { ::munmap(mapped, size); }), {bytes, size}};
}

}  // namespace viva
