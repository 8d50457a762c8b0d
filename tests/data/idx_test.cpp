// IDX: every element type, every kind of damage, and pairs of files as datasets.
#include "viva/data/idx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/data/idx_bytes.h"
#include "tests/temporary_directory.h"

namespace viva::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr unsigned kUInt8 = 0x08, kInt8 = 0x09, kInt16 = 0x0B, kInt32 = 0x0C, kFloat32 = 0x0D, kFloat64 = 0x0E;

void expect_idx_error(const Bytes& bytes, std::int64_t offset, const std::string& words) {
  try {
    parse_idx(bytes, "a.idx");
    FAIL() << "no error";
  } catch (const IoError& error) {
    EXPECT_EQ(error.path, "a.idx");
    EXPECT_EQ(error.offset, offset);
    EXPECT_THAT(error.what(), HasSubstr(words));
  }
}

// Plain and gzip, from memory and from a file: one tensor.
template <typename T>
void check_idx_values(unsigned code, const std::vector<T>& values) {
  const Bytes bytes = idx_bytes(code, {static_cast<std::uint32_t>(values.size())}, values);
  const TemporaryDirectory directory;
  const Tensor expected = Tensor::from_values(values);
  EXPECT_TRUE(bitwise_equal(parse_idx(bytes, ""), expected));
  EXPECT_TRUE(bitwise_equal(parse_idx(gzip_bytes(bytes), ""), expected));
  EXPECT_TRUE(bitwise_equal(read_idx(directory.write("plain", bytes)), expected));
  EXPECT_TRUE(bitwise_equal(read_idx(directory.write("packed.gz", gzip_bytes(bytes))), expected));
}

TEST(Idx, EveryElementType) {
  check_idx_values<std::uint8_t>(kUInt8, {0, 1, 128, 255});
  check_idx_values<std::int8_t>(kInt8, {0, 1, -1, -128, 127});
  check_idx_values<std::int16_t>(kInt16, {0, 1, -2, 0x1234, -32768});
  check_idx_values<std::int32_t>(kInt32, {0, -2, 0x12345678, std::numeric_limits<std::int32_t>::min()});
  check_idx_values<float>(kFloat32, {0, -1.5F, 3.25e30F, std::numeric_limits<float>::quiet_NaN()});
  check_idx_values<double>(kFloat64, {0, -1.5, 3.25e300, std::numeric_limits<double>::infinity()});
}

TEST(Idx, BytesOfAKnownFile) {
  // Written by hand: a (2, 2) int16 tensor.
  const Bytes bytes = bytes_of({0, 0, 0x0B, 2, 0, 0, 0, 2, 0, 0, 0, 2, 0x00, 0x01, 0x01, 0x00, 0xFF, 0xFE, 0x80, 0x00});
  EXPECT_TRUE(bitwise_equal(parse_idx(bytes, ""), Tensor::from_values<std::int16_t>({1, 256, -2, -32768}, {2, 2})));
}

TEST(Idx, ScalarAndManyDimensions) {
  const Tensor scalar = parse_idx(idx_bytes<std::uint8_t>(kUInt8, {}, {9}), "");
  EXPECT_EQ(scalar.shape(), Shape{});
  EXPECT_EQ(scalar.item(), 9);
  const std::vector<std::uint32_t> ones(255, 1);
  EXPECT_EQ(parse_idx(idx_bytes<float>(kFloat32, ones, {2.5F}), "").shape(), Shape(255, 1));
}

TEST(Idx, WithoutElements) {
  EXPECT_EQ(parse_idx(idx_header(kFloat64, {0}), "").shape(), Shape({0}));
  EXPECT_EQ(parse_idx(idx_header(kUInt8, {3, 0, 5}), "").shape(), Shape({3, 0, 5}));
}

RC_GTEST_PROP(Idx, AnyShape, (const std::vector<std::uint8_t>& axes)) {
  std::vector<std::uint32_t> shape;
  std::uint32_t count = 1, most = 1;  // `most` counts axes of zero as one: they do not excuse the others
  for (const std::uint8_t axis : axes) {
    shape.push_back(axis % 4);
    count *= shape.back();
    most *= std::max(shape.back(), 1U);
    if (most > 2000) break;
  }
  std::vector<std::int32_t> values(count);
  for (std::uint32_t i = 0; i < count; ++i) values[i] = static_cast<std::int32_t>(i * 2654435761U);
  const Tensor expected = Tensor::from_values(values, Shape(shape.begin(), shape.end()));
  RC_ASSERT(bitwise_equal(parse_idx(idx_bytes(kInt32, shape, values), ""), expected));
}

TEST(Idx, EmptyOrShorterThanTheMagicNumber) {
  expect_idx_error({}, 0, "expected an IDX header of at least 4 bytes, found 0");
  expect_idx_error(bytes_of({0, 0, 8}), 0, "found 3");
}

TEST(Idx, WrongMagicShowsTheBytes) {
  expect_idx_error(bytes_of({0x89, 'P', 'N', 'G', 0, 0}), 0, "found 89 50 4E 47");
  expect_idx_error(bytes_of({0, 1, 8, 1, 0, 0, 0, 0}), 0, "found 00 01 08 01");
  expect_idx_error(bytes_of({1, 0, 8, 1, 0, 0, 0, 0}), 0, "found 01 00 08 01");
  for (const unsigned code : {0x00U, 0x07U, 0x0AU, 0x0FU, 0xFFU}) {
    expect_idx_error(idx_header(code, {0}), 0, "this is no IDX file");
  }
}

TEST(Idx, EndsWithinItsHeader) {
  expect_idx_error(bytes_of({0, 0, 8, 3, 0, 0, 0, 1, 0, 0}), 10, "3 dimensions need 16 bytes, found 10");
  expect_idx_error(bytes_of({0, 0, 8, 255}), 4, "255 dimensions need 1024 bytes");
}

TEST(Idx, EveryTruncationIsAnError) {
  const Bytes bytes = idx_bytes<std::int16_t>(kInt16, {2, 3}, {1, 2, 3, 4, 5, 6});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(parse_idx(std::span(bytes).first(size), ""), IoError) << size;
  }
}

TEST(Idx, HeaderPromisesMore) {
  expect_idx_error(idx_bytes<float>(kFloat32, {3}, {1, 2}), 16, "3 elements, but 8 bytes follow");
  // Nothing near so large may be allocated.
  expect_idx_error(idx_header(kFloat64, {0xFFFFFFFF}), 8, "4294967295 elements, but 0 bytes follow");
  expect_idx_error(idx_header(kFloat64, {0xFFFFFFFF, 0x3FFFFFFF}), 12, "but 0 bytes follow");
}

TEST(Idx, HeaderPromisesLess) {
  expect_idx_error(idx_bytes<float>(kFloat32, {1}, {1, 2}), 12, "4 bytes more than shape [1] of float32");
  expect_idx_error(idx_header(kUInt8, {0}) + bytes_of({1}), 8, "1 bytes more");
}

TEST(Idx, SizeThatOverflows) {
  const std::uint32_t most = 0xFFFFFFFF;
  expect_idx_error(idx_header(kUInt8, {most, most, most}), 4, "too many elements");
  // 2^64 and 2^96 elements: zero, where the product is taken modulo 2^64.
  expect_idx_error(idx_header(kUInt8, {1U << 31, 1U << 31, 4}), 4, "too many elements");
  expect_idx_error(idx_header(kFloat64, {1U << 24, 1U << 24, 1U << 24, 1U << 24}), 4, "too many elements");
  // 2^61 doubles: few enough to count, but no longer in bytes.
  expect_idx_error(idx_header(kFloat64, {1U << 31, 1U << 30}), 12, "but 0 bytes follow");
  // An axis of zero hides nothing.
  expect_idx_error(idx_header(kUInt8, {0, most, most, most}), 4, "too many elements");
}

TEST(Idx, GzipOfSomethingElse) {
  expect_idx_error(gzip_bytes(bytes_of({'h', 'e', 'l', 'l', 'o'})), 0, "found 68 65 6C 6C");
  expect_idx_error(gzip_bytes(bytes_of({'h', 'e', 'l', 'l', 'o'})), 0, "that the gzip file unpacks to");
  // Gzip within gzip is unpacked once.
  expect_idx_error(gzip_bytes(gzip_bytes(idx_bytes<std::uint8_t>(kUInt8, {1}, {1}))), 0, "found 1F 8B");
}

TEST(Idx, TruncatedGzip) {
  const Bytes packed = gzip_bytes(idx_bytes<std::uint8_t>(kUInt8, {4}, {1, 2, 3, 4}));
  expect_idx_error(Bytes(packed.begin(), packed.end() - 3), 0, "cut short or damaged");
}

TEST(Idx, LimitOnUnpackedBytes) {
  const Bytes packed = gzip_bytes(idx_bytes<std::uint8_t>(kUInt8, {4}, {1, 2, 3, 4}));
  EXPECT_NO_THROW(parse_idx(packed, "", 12));
  EXPECT_THROW(parse_idx(packed, "", 11), IoError);
}

TEST(Idx, NoFile) {
  const TemporaryDirectory directory;
  EXPECT_THROW(read_idx(directory.file("missing")), IoError);
  EXPECT_THROW(read_idx(directory.file("")), IoError);
  EXPECT_THROW(read_idx("/dev/null"), IoError);
}

class IdxDataset : public testing::Test {
 protected:
  // The message of the IoError, which must be about `path`.
  std::string error_of_loading(const std::string& images, const std::string& labels, const std::string& path) {
    try {
      load_idx_dataset(images, labels);
    } catch (const IoError& error) {
      EXPECT_EQ(error.path, path);
      return error.what();
    }
    return "no error";
  }

  const TemporaryDirectory directory_;
  const std::string images_ =
      directory_.write("images", idx_bytes<std::uint8_t>(kUInt8, {2, 1, 3}, {0, 51, 255, 1, 2, 3}));
  const std::string labels_ = directory_.write("labels", idx_bytes<std::uint8_t>(kUInt8, {2}, {7, 200}));
};

TEST_F(IdxDataset, PixelsAreScaledAndLabelsBecomeInt32) {
  const Dataset dataset = load_idx_dataset(images_, labels_);
  ASSERT_EQ(dataset.size(), 2);
  const Sample sample = dataset.get(0);
  EXPECT_TRUE(
      bitwise_equal(sample.input, Tensor::from_values<float>({0, static_cast<float>(51 * (1.0 / 255)), 1}, {1, 3})));
  EXPECT_EQ(dataset.spec().target_dtype, Dtype::kInt32);
  EXPECT_EQ(sample.target.item(), 7);
  EXPECT_EQ(dataset.get(1).target.item(), 200);
}

TEST_F(IdxDataset, OptionsAreUsed) {
  const Dataset dataset = load_idx_dataset(images_, labels_, {{2.0, 50.0}, Dtype::kFloat64});
  EXPECT_TRUE(bitwise_equal(dataset.get(0).input, Tensor::from_values<double>({-100, 2, 410}, {1, 3})));
}

TEST_F(IdxDataset, FloatInputs) {
  const std::string images = directory_.write("floats", idx_bytes<float>(kFloat32, {2, 2}, {1, 2, 3, 4}));
  const Dataset dataset = load_idx_dataset(images, labels_, {{10.0, 1.0}, Dtype::kFloat32});
  EXPECT_TRUE(bitwise_equal(dataset.get(1).input, Tensor::from_values<float>({20, 30})));
}

TEST_F(IdxDataset, EveryIntegerTypeIsALabel) {
  const std::string i8 = directory_.write("i8", idx_bytes<std::int8_t>(kInt8, {2}, {-1, 1}));
  const std::string i16 = directory_.write("i16", idx_bytes<std::int16_t>(kInt16, {2}, {-300, 300}));
  const std::string i32 = directory_.write("i32", idx_bytes<std::int32_t>(kInt32, {2}, {-70000, 70000}));
  EXPECT_EQ(load_idx_dataset(images_, i8).get(0).target.item(), -1);
  EXPECT_EQ(load_idx_dataset(images_, i16).get(0).target.item(), -300);
  EXPECT_EQ(load_idx_dataset(images_, i32).get(1).target.item(), 70000);
}

TEST_F(IdxDataset, DifferentCountsNameBothFiles) {
  const std::string three = directory_.write("three", idx_bytes<std::uint8_t>(kUInt8, {3}, {1, 2, 3}));
  EXPECT_THAT(error_of_loading(images_, three, three),
              AllOf(HasSubstr(images_), HasSubstr("3 labels"), HasSubstr("2 images")));
}

TEST_F(IdxDataset, LabelsMustBeAVectorOfIntegers) {
  const std::string floats = directory_.write("floats", idx_bytes<float>(kFloat32, {2}, {1, 2}));
  const std::string scalar = directory_.write("scalar", idx_bytes<std::uint8_t>(kUInt8, {}, {1}));
  EXPECT_THAT(error_of_loading(images_, floats, floats), AllOf(HasSubstr(images_), HasSubstr("float32")));
  EXPECT_THAT(error_of_loading(images_, scalar, scalar), HasSubstr("shape []"));
  EXPECT_THAT(error_of_loading(labels_, images_, images_), AllOf(HasSubstr(labels_), HasSubstr("swapped")));
}

TEST_F(IdxDataset, WithoutImages) {
  const std::string none = directory_.write("none", idx_header(kUInt8, {0, 28, 28}));
  const std::string no_labels = directory_.write("no_labels", idx_header(kUInt8, {0}));
  const std::string no_pixels = directory_.write("no_pixels", idx_header(kUInt8, {2, 0, 28}));
  const std::string scalar = directory_.write("scalar", idx_bytes<std::uint8_t>(kUInt8, {}, {1}));
  EXPECT_THAT(error_of_loading(none, no_labels, none), HasSubstr("found shape [0, 28, 28]"));
  EXPECT_THAT(error_of_loading(no_pixels, labels_, no_pixels), HasSubstr("found shape [2, 0, 28]"));
  EXPECT_THAT(error_of_loading(scalar, labels_, scalar), HasSubstr("found shape []"));
  EXPECT_THAT(error_of_loading(images_, no_labels, no_labels), HasSubstr("0 labels"));
}

TEST_F(IdxDataset, MissingFilesAreNamed) {
  const std::string missing = directory_.file("missing");
  EXPECT_THAT(error_of_loading(missing, labels_, missing), HasSubstr("No such file"));
  EXPECT_THAT(error_of_loading(images_, missing, missing), HasSubstr("No such file"));
}

}  // namespace
}  // namespace viva::data
