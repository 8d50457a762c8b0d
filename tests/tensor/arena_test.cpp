// Arena: aligned pieces that do not overlap, and memory that is used again after a reset.
#include "viva/tensor/arena.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace viva {
namespace {

using Sizes = std::vector<std::size_t>;

// Small pieces, and now and then one that does not fit into what is left of a block.
Sizes some_sizes() {
  return *rc::gen::container<Sizes>(rc::gen::weightedOneOf<std::size_t>(
      {{8, rc::gen::inRange<std::size_t>(0, 300)}, {1, rc::gen::inRange<std::size_t>(300'000, 1'200'000)}}));
}

std::vector<std::span<std::uint8_t>> allocate_all(Arena& arena, const Sizes& sizes) {
  std::vector<std::span<std::uint8_t>> pieces;
  for (const std::size_t size : sizes) pieces.push_back(arena.allocate<std::uint8_t>(size));
  return pieces;
}

RC_GTEST_PROP(Arena, PiecesAreAlignedAndDoNotOverlap, ()) {
  Arena arena;
  const Sizes sizes = some_sizes();
  const auto pieces = allocate_all(arena, sizes);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    RC_ASSERT(pieces[i].size() == sizes[i]);
    RC_ASSERT(reinterpret_cast<std::uintptr_t>(pieces[i].data()) % kAlignment == 0U);
    std::fill(pieces[i].begin(), pieces[i].end(), static_cast<std::uint8_t>(i));
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto id = static_cast<std::uint8_t>(i);
    RC_ASSERT(std::all_of(pieces[i].begin(), pieces[i].end(), [id](std::uint8_t byte) { return byte == id; }));
  }
}

RC_GTEST_PROP(Arena, ResetHandsTheSameMemoryOutAgain, ()) {
  Arena arena;
  const Sizes sizes = some_sizes();
  const auto first = allocate_all(arena, sizes);
  arena.reset();
  const auto second = allocate_all(arena, sizes);
  for (std::size_t i = 0; i < sizes.size(); ++i) RC_ASSERT(first[i].data() == second[i].data());
}

RC_GTEST_PROP(Arena, AScopeGivesBackItsOwnPiecesOnly, ()) {
  Arena arena;
  const Sizes outer = some_sizes(), inner = some_sizes();
  const auto kept = allocate_all(arena, outer);
  std::vector<std::span<std::uint8_t>> first, second;
  {
    const Arena::Scope scope(arena);
    first = allocate_all(arena, inner);
  }
  second = allocate_all(arena, inner);
  for (std::size_t i = 0; i < inner.size(); ++i) RC_ASSERT(first[i].data() == second[i].data());
  arena.reset();
  const auto again = allocate_all(arena, outer);
  for (std::size_t i = 0; i < outer.size(); ++i) RC_ASSERT(again[i].data() == kept[i].data());
}

TEST(Arena, CountsElementsNotBytes) {
  Arena arena;
  const auto first = arena.allocate<double>(100), second = arena.allocate<double>(1);
  EXPECT_EQ(first.size(), 100U);
  EXPECT_GE(second.data(), first.data() + 100);
}

}  // namespace
}  // namespace viva
