#include "viva/base/shared_mapping.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <new>
#include <system_error>

#include "viva/base/error.h"

namespace viva {

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

SharedBytes make_shared_bytes(std::size_t size) {
  if (size > std::numeric_limits<std::size_t>::max() - page_size()) throw std::bad_alloc();
  const std::size_t capacity = round_up(size == 0 ? 1 : size, page_size());
  void* memory = ::mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return {static_cast<std::byte*>(memory), [capacity](std::byte* p) { ::munmap(p, capacity); }};
}

void set_access(std::byte* begin, std::size_t size, Access access) {
  const int protection = access == Access::kNone   ? PROT_NONE
                         : access == Access::kRead ? PROT_READ
                                                   : PROT_READ | PROT_WRITE;
  if (size == 0 || ::mprotect(begin, round_up(size, page_size()), protection) == 0) return;
  throw Error(
      fmt::format("cannot protect {} bytes of shared memory: {}", size, std::generic_category().message(errno)));
}

}  // namespace viva
