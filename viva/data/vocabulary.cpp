#include "viva/data/vocabulary.h"

#include <fmt/format.h>

#include <cstddef>

#include "viva/base/error.h"

namespace viva::data {

Vocabulary::Vocabulary(std::string_view text) {
  tokens_.fill(kNone);
  for (const char character : text) tokens_[static_cast<unsigned char>(character)] = 0;
  for (std::size_t byte = 0; byte < tokens_.size(); ++byte) {
    if (tokens_[byte] == kNone) continue;
    tokens_[byte] = size();
    characters_ += static_cast<char>(byte);
  }
}

std::vector<std::int32_t> Vocabulary::encode(std::string_view text) const {
  std::vector<std::int32_t> tokens;
  tokens.reserve(text.size());
  for (const char character : text) {
    if (token(character) == kNone) {
      throw DimensionError(fmt::format("character {} of the text, {}, is not among the {} of the vocabulary",
                                       tokens.size(), name_of_character(character), size()),
                           std::string(1, character));
    }
    tokens.push_back(token(character));
  }
  return tokens;
}

std::string Vocabulary::decode(std::span<const std::int32_t> tokens) const {
  std::string text;
  text.reserve(tokens.size());
  for (const std::int32_t token : tokens) {
    if (token < 0 || token >= size()) throw IndexOutOfBounds("Vocabulary::decode", token, size());
    text += characters_[static_cast<std::size_t>(token)];
  }
  return text;
}

std::string name_of_character(char character) {
  const auto byte = static_cast<unsigned char>(character);
  return byte > ' ' && byte < 0x7F ? fmt::format("'{}'", character) : fmt::format("byte 0x{:02X}", byte);
}

}  // namespace viva::data
