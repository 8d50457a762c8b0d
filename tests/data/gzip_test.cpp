// Gzip: members, damage, and files that would unpack to more than they should.
#include "viva/data/gzip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/data/idx_bytes.h"
#include "viva/base/error.h"

namespace viva::data {
namespace {

using ::testing::HasSubstr;

Bytes unpacked(const Bytes& packed, std::size_t most_bytes = kUnlimited) {
  const FileBytes bytes = gunzip(packed, "a.gz", most_bytes);
  return {bytes.span().begin(), bytes.span().end()};
}

void expect_gzip_error(const Bytes& packed, std::int64_t offset, const std::string& words) {
  try {
    unpacked(packed);
    FAIL() << "no error";
  } catch (const IoError& error) {
    EXPECT_EQ(error.path, "a.gz");
    EXPECT_EQ(error.offset, offset);
    EXPECT_THAT(error.what(), HasSubstr(words));
  }
}

const Bytes kText = bytes_of({'d', 'a', 't', 'a', ' ', 'd', 'a', 't', 'a', ' ', 'd', 'a', 't', 'a'});

TEST(Gunzip, OneMember) { EXPECT_EQ(unpacked(gzip_bytes(kText)), kText); }

TEST(Gunzip, NoContents) { EXPECT_EQ(unpacked(gzip_bytes({})), Bytes()); }

TEST(Gunzip, ConcatenatedMembers) {
  const Bytes large(100000, std::byte{7});
  EXPECT_EQ(unpacked(gzip_bytes(large) + gzip_bytes(kText) + gzip_bytes({}) + gzip_bytes(large)),
            large + kText + large);
}

TEST(Gunzip, ContentsFarLargerThanTheFile) {
  const Bytes zeros(3'000'000);
  const Bytes packed = gzip_bytes(zeros, 12);
  ASSERT_GT(zeros.size() / packed.size(), 500U);
  EXPECT_EQ(unpacked(packed), zeros);
}

TEST(Gunzip, CutShort) {
  const Bytes packed = gzip_bytes(kText);
  for (std::size_t size = 0; size < packed.size(); ++size) {
    EXPECT_THROW(unpacked(Bytes(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(size))), IoError) << size;
  }
  expect_gzip_error(Bytes(packed.begin(), packed.end() - 1), 0, "cut short or damaged");
}

// Some bits have no meaning, such as the padding before a stored block; a damaged one of the others is an error.
TEST(Gunzip, DamageNeverChangesTheContents) {
  const Bytes packed = gzip_bytes(kText);
  int errors = 0;
  for (std::size_t bit = 0; bit < packed.size() * 8; ++bit) {
    Bytes damaged = packed;
    damaged[bit / 8] ^= std::byte{1} << (bit % 8);
    try {
      EXPECT_EQ(unpacked(damaged), kText) << "bit " << bit;
    } catch (const IoError&) {
      ++errors;
    }
  }
  EXPECT_GE(errors, static_cast<int>((kText.size() + 8) * 8)) << "every bit of the data, checksum and length counts";
}

TEST(Gunzip, WrongChecksum) {
  Bytes packed = gzip_bytes(kText);
  packed[packed.size() - 8] ^= std::byte{1};
  expect_gzip_error(packed, 0, "cut short or damaged");
}

TEST(Gunzip, LengthThatTheTrailerOverstates) {
  Bytes packed = gzip_bytes(kText);
  packed[packed.size() - 1] = std::byte{0xFF};  // nearly 4 GiB
  expect_gzip_error(packed, 0, "cut short or damaged");
}

TEST(Gunzip, DamageInTheSecondMemberHasItsOffset) {
  const Bytes first = gzip_bytes(kText);
  Bytes packed = first + first;
  packed[packed.size() - 8] ^= std::byte{1};
  expect_gzip_error(packed, static_cast<std::int64_t>(first.size()), "cut short or damaged");
}

TEST(Gunzip, BytesBehindTheEnd) {
  const Bytes packed = gzip_bytes(kText);
  const auto end = static_cast<std::int64_t>(packed.size());
  expect_gzip_error(packed + bytes_of({0}), end, "1 bytes that are not gzip follow");
  expect_gzip_error(packed + kText, end, "14 bytes that are not gzip follow");
  expect_gzip_error(packed + bytes_of({0x1f, 0x8b}), end, "cut short or damaged");
}

TEST(Gunzip, NotGzip) { expect_gzip_error(kText + kText, 0, "not gzip"); }

TEST(Gunzip, TheCallersLimit) {
  const Bytes packed = gzip_bytes(kText);
  EXPECT_EQ(unpacked(packed, kText.size()), kText);
  EXPECT_THROW(unpacked(packed, kText.size() - 1), IoError);
  EXPECT_THROW(unpacked(packed, 0), IoError);
  EXPECT_THROW(unpacked(gzip_bytes(Bytes(10'000'000)), 1'000'000), IoError);
  EXPECT_THROW(unpacked(packed + packed, 2 * kText.size() - 1), IoError);
  EXPECT_EQ(unpacked(packed + packed, 2 * kText.size()), kText + kText);
}

RC_GTEST_PROP(Gunzip, UndoesGzip, (const std::vector<std::vector<std::uint8_t>>& members)) {
  Bytes all, packed;
  for (const auto& member : members) {
    const auto bytes = std::as_bytes(std::span(member));
    all.insert(all.end(), bytes.begin(), bytes.end());
    append(packed, gzip_bytes(bytes, *rc::gen::inRange(0, 13)));
  }
  RC_PRE(!packed.empty());
  RC_ASSERT(unpacked(packed) == all);
}

}  // namespace
}  // namespace viva::data
