// The known word that was probably meant by an unknown one.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace viva::cli {

// The fewest insertions, deletions, substitutions and swaps of neighbours that make `b` of `a`.
// Source: the "optimal string alignment" distance, by dynamic programming over two earlier rows.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The first of the nearest candidates; empty where none is near, that is within half of the word's length.
std::string nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace viva::cli
