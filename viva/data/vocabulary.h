// Characters and their numbers.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace viva::data {

// The distinct characters of a text, sorted; a character's place is its token. A character is one byte: every file is a
// text and comes back byte for byte, and a letter outside ASCII is several characters. Immutable.
class Vocabulary {
 public:
  static constexpr std::int32_t kNone = -1;

  // The characters that occur in `text`, each once, in any order: Vocabulary(v.characters()) equals v.
  explicit Vocabulary(std::string_view text);

  std::int32_t size() const { return static_cast<std::int32_t>(characters_.size()); }
  const std::string& characters() const { return characters_; }
  // The character's token, or kNone.
  std::int32_t token(char character) const { return tokens_[static_cast<unsigned char>(character)]; }

  // DimensionError with the character, and its place in the message, for one that is not in the vocabulary.
  std::vector<std::int32_t> encode(std::string_view text) const;
  // IndexOutOfBounds for a number that is no token.
  std::string decode(std::span<const std::int32_t> tokens) const;

  bool operator==(const Vocabulary&) const = default;

 private:
  std::string characters_;
  std::array<std::int32_t, 256> tokens_;
};

// A character as messages show it: 'a', or byte 0x0A.
std::string name_of_character(char character);

}  // namespace viva::data
