// Memory that a process shares with those it forks.
#pragma once

#include <cstddef>

#include "viva/base/aligned_buffer.h"

namespace viva {

// Whose memory a flat buffer is: this process's own, or also that of the processes forked later.
enum class Memory { kPrivate, kShared };

std::size_t page_size();

// At least `size` zeroed bytes in whole pages, shared with every process that is forked while they exist. Anonymous, so
// nothing is left behind however the processes end; unmapped with the last copy of the pointer. Throws std::bad_alloc.
SharedBytes make_shared_bytes(std::size_t size);

enum class Access { kNone, kRead, kReadWrite };

// What this process alone may do from now on with whole pages: anything else ends it by SIGSEGV. Throws Error.
void set_access(std::byte* begin, std::size_t size, Access access);

}  // namespace viva
