#include "viva/base/aligned_buffer.h"

#include <cstring>
#include <limits>
#include <new>

namespace viva {

SharedBytes make_aligned_bytes(std::size_t size) {
  constexpr std::align_val_t alignment{kAlignment};
  if (size > std::numeric_limits<std::size_t>::max() - kAlignment) throw std::bad_alloc();
  const std::size_t capacity = round_up(size == 0 ? 1 : size, kAlignment);
  auto* bytes = static_cast<std::byte*>(::operator new(capacity, alignment));
  std::memset(bytes, 0, capacity);
  return {bytes, [](std::byte* p) { ::operator delete(p, alignment); }};
}

}  // namespace viva
