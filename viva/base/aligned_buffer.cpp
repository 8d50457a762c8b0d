#include "viva/base/aligned_buffer.h"

#include <sys/mman.h>

#include <cstring>
#include <limits>
#include <new>

namespace viva {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

SharedBytes make_aligned_bytes(std::size_t size) {
  if (size > std::numeric_limits<std::size_t>::max() - kAlignment) throw std::bad_alloc();
  const std::size_t capacity = round_up(size == 0 ? 1 : size, kAlignment);
  // A process that takes the place of a dead one touches all of its memory for the first time within one step, and
  // small pages would be most of what that step costs.
  const bool large = capacity >= kHugePage;
  const std::align_val_t alignment{large ? kHugePage : kAlignment};
  auto* bytes = static_cast<std::byte*>(::operator new(capacity, alignment));
  // Only a wish: where the kernel does not grant it, pages are small.
  if (large) ::madvise(bytes, capacity / kHugePage * kHugePage, MADV_HUGEPAGE);
  std::memset(bytes, 0, capacity);
  return {bytes, [alignment](std::byte* p) { ::operator delete(p, alignment); }};
}

}  // namespace viva
