// Vocabulary: characters to tokens and back.
#include "viva/data/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "viva/base/error.h"

namespace viva::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Vocabulary, SortedDistinctCharacters) {
  const Vocabulary vocabulary("hello, hell\xFF\n");
  EXPECT_EQ(vocabulary.characters(), "\n ,ehlo\xFF");
  EXPECT_EQ(vocabulary.size(), 8);
  EXPECT_EQ(vocabulary.token('\n'), 0);
  EXPECT_EQ(vocabulary.token('\xFF'), 7);
  EXPECT_EQ(vocabulary.token('x'), Vocabulary::kNone);
  EXPECT_EQ(Vocabulary("").size(), 0);
}

TEST(Vocabulary, EncodesAndDecodes) {
  const Vocabulary vocabulary("abc");
  EXPECT_THAT(vocabulary.encode("cab"), ElementsAre(2, 0, 1));
  EXPECT_EQ(vocabulary.decode(std::vector<std::int32_t>{2, 0, 1}), "cab");
  EXPECT_THAT(vocabulary.encode(""), ElementsAre());
}

TEST(Vocabulary, EveryByteIsACharacter) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const Vocabulary vocabulary(all);
  EXPECT_EQ(vocabulary.size(), 256);
  EXPECT_EQ(vocabulary.decode(vocabulary.encode(all)), all);
}

RC_GTEST_PROP(Vocabulary, EveryTextComesBack, (const std::string& text)) {
  const Vocabulary vocabulary(text);
  RC_ASSERT(vocabulary.decode(vocabulary.encode(text)) == text);
  RC_ASSERT(Vocabulary(vocabulary.characters()) == vocabulary);
  RC_ASSERT(std::is_sorted(vocabulary.characters().begin(), vocabulary.characters().end(), [](char a, char b) {
    return static_cast<unsigned char>(a) < static_cast<unsigned char>(b);
  }));
}

TEST(Vocabulary, UnknownCharacter) {
  for (const auto& [text, words] :
       {std::pair{"abx", "character 2 of the text, 'x'"}, std::pair{"a\n", "character 1 of the text, byte 0x0A"}}) {
    try {
      Vocabulary("abc").encode(text);
      FAIL() << "no error";
    } catch (const DimensionError& error) {
      EXPECT_EQ(error.name, std::string(1, std::string(text).back()));
      EXPECT_THAT(error.what(), HasSubstr(words));
      EXPECT_THAT(error.what(), HasSubstr("not among the 3 of the vocabulary"));
    }
  }
}

TEST(Vocabulary, NoToken) {
  EXPECT_THROW(Vocabulary("abc").decode(std::vector<std::int32_t>{0, 3}), IndexOutOfBounds);
  EXPECT_THROW(Vocabulary("abc").decode(std::vector<std::int32_t>{-1}), IndexOutOfBounds);
}

}  // namespace
}  // namespace viva::data
