// Operands between pages that may not be touched: a kernel that reads or writes beyond them ends the test, in every
// build and with the instructions that are shipped.
#pragma once

#include <algorithm>
#include <cstddef>

#include "viva/base/shared_mapping.h"

namespace viva::test {

enum class Guard { kBefore, kBehind };

// `count` floats beginning behind a forbidden page, or ending before one.
class Guarded {
 public:
  Guarded(Guard guard, const float* values, std::size_t count) : Guarded(guard, count) {
    if (count > 0) std::copy_n(values, count, data_);
  }
  Guarded(Guard guard, std::size_t count)
      : inner_((count * sizeof(float) + page_size() - 1) / page_size() * page_size()),
        bytes_(make_shared_bytes(inner_ + 2 * page_size())) {
    std::byte* const begin = bytes_.get() + page_size();
    set_access(bytes_.get(), page_size(), Access::kNone);
    set_access(begin + inner_, page_size(), Access::kNone);
    std::byte* const place = guard == Guard::kBefore ? begin : begin + inner_ - count * sizeof(float);
    data_ = reinterpret_cast<float*>(place);
  }

  float* data() const { return data_; }

 private:
  std::size_t inner_;
  SharedBytes bytes_;
  float* data_ = nullptr;
};

}  // namespace viva::test
