// Text: files as tokens, windows as samples, the last part for validation.
#include "viva/data/text.h"
#include "tests/data/values_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/temporary_directory.h"

namespace viva::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LoadText : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    return directory_.write(name, std::as_bytes(std::span(text)));
  }

  // The message of the IoError, which must be about `path`.
  std::string error_of(const std::vector<std::string>& paths, const std::string& path, std::int64_t offset = -1) {
    try {
      load_text(paths, Vocabulary("abc\n"));
    } catch (const IoError& error) {
      EXPECT_EQ(error.path, path);
      EXPECT_EQ(error.offset, offset);
      return error.what();
    }
    return "no error";
  }

  const TemporaryDirectory directory_;
};

TEST_F(LoadText, FilesFollowEachOther) {
  const std::vector<std::string> paths{write("a", "to be\r\n"), write("b", "\xC3\xA9")};
  const Text text = load_text(paths);
  EXPECT_EQ(text.tokens.shape(), Shape({9}));
  EXPECT_EQ(text.tokens.dtype(), Dtype::kUInt8);
  EXPECT_EQ(text.vocabulary, Vocabulary("to be\r\n\xC3\xA9"));
  EXPECT_EQ(text.vocabulary.decode(values_of<std::int32_t>(text.tokens.to(Dtype::kInt32))), "to be\r\n\xC3\xA9");
}

TEST_F(LoadText, AGivenVocabularyIsKept) {
  const std::vector<std::string> paths{write("a", "cab")};
  const Text text = load_text(paths, Vocabulary("abcd"));
  EXPECT_EQ(text.vocabulary.size(), 4);
  EXPECT_THAT(values_of<std::int32_t>(text.tokens.to(Dtype::kInt32)), ElementsAre(2, 0, 1));
}

TEST_F(LoadText, CharacterOutsideAGivenVocabulary) {
  const std::string a = write("a", "abc\n"), b = write("b", "cax"), c = write("c", std::string("a\0", 2));
  EXPECT_THAT(error_of({a, b}, b, 2), HasSubstr("expected one of the 4 characters of the vocabulary, found 'x'"));
  EXPECT_THAT(error_of({c}, c, 1), HasSubstr("found byte 0x00"));
}

TEST_F(LoadText, EmptyAndMissingFiles) {
  const std::string a = write("a", "abc"), empty = write("empty", ""), missing = directory_.file("missing");
  EXPECT_THAT(error_of({a, empty}, empty), HasSubstr("expected a text, found an empty file"));
  EXPECT_THAT(error_of({a, missing}, missing), HasSubstr("No such file"));
  EXPECT_THAT(error_of({directory_.file("")}, directory_.file("")), HasSubstr("directory"));
  EXPECT_THROW(load_text({}), Error);
}

TEST_F(LoadText, ValidationIsTheLastPart) {
  const std::vector<std::string> paths{write("a", "abcdefghij")};
  const Text text = load_text(paths);
  const auto [train, validation] = split(text, 0.3);
  EXPECT_EQ(train.tokens.shape(), Shape({7}));
  EXPECT_EQ(validation.vocabulary, text.vocabulary);
  EXPECT_THAT(values_of<std::int32_t>(validation.tokens.to(Dtype::kInt32)), ElementsAre(7, 8, 9));
  EXPECT_EQ(validation.tokens.bytes().data(), text.tokens.bytes().data() + 7) << "a copy";
  EXPECT_THROW(split(text, 0.01), ConfigError);
}

TEST(WindowDataset, TargetsAreOneTokenLater) {
  const Tensor tokens = Tensor::from_values<std::uint8_t>({0, 1, 2, 3, 4, 255});
  const Dataset dataset = window_dataset(tokens, {.context = 3, .stride = 2});
  ASSERT_EQ(dataset.size(), 2);
  EXPECT_THAT(values_of<std::int32_t>(dataset.get(0).input), ElementsAre(0, 1, 2));
  EXPECT_THAT(values_of<std::int32_t>(dataset.get(0).target), ElementsAre(1, 2, 3));
  EXPECT_THAT(values_of<std::int32_t>(dataset.get(1).input), ElementsAre(2, 3, 4));
  EXPECT_THAT(values_of<std::int32_t>(dataset.get(1).target), ElementsAre(3, 4, 255));
}

TEST(WindowDataset, TokensAreShared) {
  const Tensor tokens = Tensor::from_values<std::int32_t>({1, 2, 70000});
  const Dataset dataset = window_dataset(tokens, {.context = 2});
  tokens.mutable_values<std::int32_t>()[0] = 5;
  EXPECT_THAT(values_of<std::int32_t>(dataset.get(0).input), ElementsAre(5, 2));
  EXPECT_THAT(values_of<std::int32_t>(dataset.get(0).target), ElementsAre(2, 70000));
}

// Every window that fits is there, and no other.
RC_GTEST_PROP(WindowDataset, WindowsThatFit, ()) {
  const auto context = *rc::gen::inRange<std::int64_t>(1, 20), stride = *rc::gen::inRange<std::int64_t>(1, 20);
  const auto length = context + *rc::gen::inRange<std::int64_t>(1, 60);
  std::vector<std::int32_t> tokens;
  for (std::int32_t i = 0; i < length; ++i) tokens.push_back(i);
  const Dataset dataset = window_dataset(Tensor::from_values(tokens), {.context = context, .stride = stride});
  std::int64_t windows = 0;
  for (std::int64_t begin = 0; begin + context + 1 <= length; begin += stride) ++windows;
  RC_ASSERT(dataset.size() == windows);
  const Sample last = dataset.get(-1);
  for (std::int64_t i = 0; i < context; ++i) {
    const auto k = static_cast<std::size_t>(i);
    RC_ASSERT(last.input.values<std::int32_t>()[k] == (windows - 1) * stride + i);
    RC_ASSERT(last.target.values<std::int32_t>()[k] == (windows - 1) * stride + i + 1);
  }
}

TEST(WindowDataset, TooShort) {
  const Tensor tokens = Tensor::zeros({4}, Dtype::kUInt8);
  EXPECT_EQ(window_dataset(tokens, {.context = 3}).size(), 1);
  EXPECT_EQ(window_dataset(tokens, {.context = 1, .stride = std::numeric_limits<std::int64_t>::max()}).size(), 1);
  for (const std::int64_t context : {std::int64_t{4}, std::numeric_limits<std::int64_t>::max()}) {
    try {
      window_dataset(tokens, {.context = context});
      FAIL() << "no error";
    } catch (const InvalidShape& error) {
      EXPECT_THAT(error.what(), HasSubstr("a context of " + std::to_string(context)));
      EXPECT_THAT(error.what(), HasSubstr("found 4 tokens"));
    }
  }
}

TEST(WindowDataset, OptionsThatCannotBe) {
  const Tensor tokens = Tensor::zeros({4}, Dtype::kUInt8);
  EXPECT_THROW(window_dataset(tokens, {.context = 0}), InvalidShape);
  EXPECT_THROW(window_dataset(tokens, {.context = -1}), InvalidShape);
  EXPECT_THROW(window_dataset(tokens, {.context = 1, .stride = 0}), InvalidShape);
  EXPECT_THROW(window_dataset(Tensor::zeros({2, 2}, Dtype::kUInt8), {.context = 1}), InvalidShape);
  EXPECT_THROW(window_dataset(Tensor::zeros({4}), {.context = 1}), DtypeError);
}

}  // namespace
}  // namespace viva::data
