// Aligned bytes: the boundary, the zeros, and room to the end of the last cache line.
#include "viva/base/aligned_buffer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>

namespace viva {
namespace {

RC_GTEST_PROP(AlignedBytes, AreZeroToTheEndOfTheirLastCacheLine, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(0, 10'000);
  const SharedBytes bytes = make_aligned_bytes(size);
  RC_ASSERT(reinterpret_cast<std::uintptr_t>(bytes.get()) % kAlignment == 0U);
  const std::size_t capacity = round_up(std::max<std::size_t>(size, 1), kAlignment);
  RC_ASSERT(std::all_of(bytes.get(), bytes.get() + capacity, [](std::byte b) { return b == std::byte{0}; }));
  // An address sanitizer sees a capacity that is too small.
  std::fill(bytes.get(), bytes.get() + capacity, std::byte{1});
}

RC_GTEST_PROP(RoundUp, IsTheNextMultiple, ()) {
  const auto value = *rc::gen::inRange<std::size_t>(0, 1'000'000), multiple = *rc::gen::inRange<std::size_t>(1, 1'000);
  const std::size_t rounded = round_up(value, multiple);
  RC_ASSERT(rounded % multiple == 0U);
  RC_ASSERT(rounded >= value);
  RC_ASSERT(rounded - value < multiple);
}

TEST(AlignedBytes, RefuseASizeThatOverflowsWhenRounded) {
  EXPECT_THROW(make_aligned_bytes(std::numeric_limits<std::size_t>::max()), std::bad_alloc);
}

}  // namespace
}  // namespace viva
