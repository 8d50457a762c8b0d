// Text for language models: its characters as tokens, and windows of them as samples.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "viva/data/dataset.h"
#include "viva/data/vocabulary.h"

namespace viva::data {

struct Text {
  Tensor tokens;  // uint8, (characters)
  Vocabulary vocabulary;
};

// The files one behind the other, nothing between them. Without a vocabulary, the text's own. IoError for an empty or
// missing file, and with its offset for a character that a given vocabulary has not; Error for no files.
Text load_text(std::span<const std::string> paths, const std::optional<Vocabulary>& vocabulary = std::nullopt);

struct TextSplit {
  Text train, validation;
};

// Validation is the last part of the text, so that no window of one part holds a character of the other. Both share the
// tokens and the vocabulary of the whole; the errors of validation_count (split.h).
TextSplit split(const Text& text, double validation_fraction);

struct WindowOptions {
  std::int64_t context = 128;
  std::int64_t stride = 1;  // from one window's beginning to the next one's
};

// Sample i is tokens[b, b + context) with b = i * stride, and as its target the same window one token later: both int32
// (context). All windows that fit, cut out of `tokens` (uint8 or int32, one axis), which is shared, as they are
// gathered. InvalidShape for a context or stride below 1, for more than one axis, and for fewer than context + 1
// tokens; DtypeError.
Dataset window_dataset(const Tensor& tokens, const WindowOptions& options);

}  // namespace viva::data
