// NPY: every element type in both byte orders, both orders of elements, every kind of damage, and back.
#include "viva/data/npy.h"

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

using ::testing::HasSubstr;

Bytes text_bytes(std::string_view text) {
  Bytes bytes;
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

// A file's beginning with the given dict, unpadded.
Bytes npy_header(std::string_view dict, unsigned major = 1) {
  const auto length = static_cast<unsigned>(dict.size());
  Bytes bytes = bytes_of({0x93, 'N', 'U', 'M', 'P', 'Y', major, 0, length & 0xFF, length >> 8});
  if (major > 1) append(bytes, bytes_of({0, 0}));
  return bytes + text_bytes(dict);
}

std::string dict_of(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
}

template <typename T>
Bytes elements(const std::vector<T>& values, bool big_endian = false) {
  Bytes bytes;
  for (const T value : values) {
    Bytes element = big_endian_bytes(value);
    if (!big_endian) std::reverse(element.begin(), element.end());
    append(bytes, element);
  }
  return bytes;
}

void expect_npy_error(const Bytes& bytes, std::int64_t offset, const std::string& words) {
  try {
    parse_npy(bytes, "a.npy");
    FAIL() << "no error, expected: " << words;
  } catch (const IoError& error) {
    EXPECT_EQ(error.path, "a.npy");
    EXPECT_EQ(error.offset, offset) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(words));
  }
}

// Offsets within the dict, behind the 10 bytes of version 1.0.
void expect_header_error(std::string_view dict, std::int64_t offset, const std::string& words) {
  expect_npy_error(npy_header(dict), 10 + offset, words);
}

// Both byte orders, from memory and from a file, and written again: one tensor.
template <typename T>
void check_npy_values(const std::string& code, const std::vector<T>& values) {
  const TemporaryDirectory directory;
  const Tensor expected = Tensor::from_values(values);
  const std::string shape = "(" + std::to_string(values.size()) + ",)";
  for (const bool big_endian : {false, true}) {
    const Bytes bytes = npy_header(dict_of((big_endian ? ">" : "<") + code, shape)) + elements(values, big_endian);
    EXPECT_TRUE(bitwise_equal(parse_npy(bytes, ""), expected)) << code;
    EXPECT_TRUE(bitwise_equal(read_npy(directory.write("a.npy", bytes)), expected)) << code;
  }
  EXPECT_TRUE(bitwise_equal(parse_npy(npy_bytes(expected), ""), expected)) << code;
  EXPECT_TRUE(bitwise_equal(read_npy(directory.write("b.npy", npy_bytes(expected))), expected)) << code;
}

TEST(Npy, EveryElementType) {
  check_npy_values<std::uint8_t>("u1", {0, 1, 128, 255});
  check_npy_values<std::int8_t>("i1", {0, 1, -1, -128, 127});
  check_npy_values<std::int16_t>("i2", {0, 1, -2, 0x1234, -32768});
  check_npy_values<std::int32_t>("i4", {0, -2, 0x12345678, std::numeric_limits<std::int32_t>::min()});
  check_npy_values<std::int64_t>("i8", {0, -2, 0x123456789ABCDEF0, std::numeric_limits<std::int64_t>::min()});
  check_npy_values<float>("f4", {0, -1.5F, 3.25e30F, std::numeric_limits<float>::quiet_NaN()});
  check_npy_values<double>("f8", {0, -1.5, 3.25e300, std::numeric_limits<double>::infinity()});
  check_npy_values<std::uint8_t>("b1", {0, 1, 1});
}

TEST(Npy, EveryVersion) {
  const Tensor expected = Tensor::from_values<std::int16_t>({1, -2});
  for (const unsigned major : {1U, 2U, 3U}) {
    const Bytes bytes = npy_header(dict_of("<i2", "(2,)") + "     \n", major) + elements<std::int16_t>({1, -2});
    EXPECT_TRUE(bitwise_equal(parse_npy(bytes, ""), expected)) << major;
  }
}

TEST(Npy, OtherSpellingsOfTheDict) {
  for (const char* dict : {"{\"descr\":\"|u1\",\"fortran_order\":False,\"shape\":(2,)}",
                           " { 'shape' : ( 2 , ) , 'fortran_order' : True , 'descr' : '|u1' , } \n",
                           "{'descr': '<u1','shape':(2,),\n'fortran_order':False}"}) {
    EXPECT_TRUE(
        bitwise_equal(parse_npy(npy_header(dict) + bytes_of({7, 9}), ""), Tensor::from_values<std::uint8_t>({7, 9})))
        << dict;
  }
}

TEST(Npy, ScalarAndWithoutElements) {
  EXPECT_EQ(parse_npy(npy_header(dict_of("<f8", "()")) + elements<double>({2.5}), "").item(), 2.5);
  EXPECT_EQ(parse_npy(npy_header(dict_of("<f4", "(0,)")), "").shape(), Shape({0}));
  EXPECT_EQ(parse_npy(npy_header(dict_of("<f4", "(3, 0, 5)", true)), "").shape(), Shape({3, 0, 5}));
  EXPECT_EQ(parse_npy(npy_bytes(Tensor()), "").shape(), Shape({0}));
}

TEST(Npy, FortranOrder) {
  const Bytes header = npy_header(dict_of(">i4", "(2, 3)", true));
  EXPECT_TRUE(bitwise_equal(parse_npy(header + elements<std::int32_t>({0, 10, 1, 11, 2, 12}, true), ""),
                            Tensor::from_values<std::int32_t>({0, 1, 2, 10, 11, 12}, {2, 3})));
}

// Element (i, j, k, …) of a Fortran file stands where the reversed index stands in C order.
RC_GTEST_PROP(Npy, FortranOrderIsTheReversedShapeTransposed, ()) {
  const auto a = *rc::gen::inRange<std::int64_t>(0, 5), b = *rc::gen::inRange<std::int64_t>(1, 5),
             c = *rc::gen::inRange<std::int64_t>(1, 5);
  std::vector<std::int16_t> stored(static_cast<std::size_t>(a * b * c)), expected(stored.size());
  for (std::int64_t i = 0; i < a; ++i) {
    for (std::int64_t j = 0; j < b; ++j) {
      for (std::int64_t k = 0; k < c; ++k) {
        const auto value = static_cast<std::int16_t>(i * 100 + j * 10 + k);
        expected[static_cast<std::size_t>((i * b + j) * c + k)] = value;
        stored[static_cast<std::size_t>((k * b + j) * a + i)] = value;
      }
    }
  }
  const std::string shape = "(" + std::to_string(a) + ", " + std::to_string(b) + ", " + std::to_string(c) + ")";
  const Tensor read = parse_npy(npy_header(dict_of("<i2", shape, true)) + elements(stored), "");
  RC_ASSERT(bitwise_equal(read, Tensor::from_values(expected, {a, b, c})));
}

RC_GTEST_PROP(Npy, AnyShapeComesBack, (const std::vector<std::uint8_t>& axes)) {
  Shape shape;
  for (std::size_t i = 0; i < std::min<std::size_t>(axes.size(), 6); ++i) shape.push_back(axes[i] % 4);
  std::vector<std::int32_t> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int32_t>(i * 2654435761U);
  const Tensor tensor = Tensor::from_values(values, shape);
  RC_ASSERT(bitwise_equal(parse_npy(npy_bytes(tensor), ""), tensor));
}

TEST(Npy, WritesWhatNumPyWrites) {
  const Bytes bytes = npy_bytes(Tensor::from_values<std::int16_t>({1, -2}, {1, 2}));
  const std::string dict = "{'descr': '<i2', 'fortran_order': False, 'shape': (1, 2), }";
  const Bytes expected = bytes_of({0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 0x76, 0}) +
                         text_bytes(dict + std::string(117 - dict.size(), ' ') + "\n") + bytes_of({1, 0, 0xFE, 0xFF});
  EXPECT_EQ(bytes, expected);
  EXPECT_THROW(npy_bytes(Tensor::zeros(Shape(65, 1))), InvalidShape);
  EXPECT_NO_THROW(parse_npy(npy_bytes(Tensor::zeros(Shape(64, 1))), ""));
}

TEST(Npy, MemoryOfTheFileIsAlignedOrCopied) {
  const TemporaryDirectory directory;
  // Of odd length, so that the elements of the second file stand on no boundary.
  const Bytes odd = npy_header(dict_of("<f8", "(1,)") + " ") + elements<double>({1.5});
  for (const std::string& path :
       {directory.write("a", npy_bytes(Tensor::from_values<double>({1.5}))), directory.write("b", odd)}) {
    const Tensor tensor = read_npy(path);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.bytes().data()) % kAlignment, 0U);
    EXPECT_EQ(tensor.item(), 1.5);
  }
}

TEST(Npy, NoNpyFile) {
  expect_npy_error({}, 0, "found an empty file");
  expect_npy_error(bytes_of({0x89, 'P', 'N', 'G', 0, 0, 1, 2}), 0, "found 89 50 4E 47 00 00: this is no NPY file");
  expect_npy_error(bytes_of({0x93, 'N', 'U', 'M', 'P', 'Y', 4, 0, 0, 0}), 6, "version 1.0, 2.0 or 3.0");
  expect_npy_error(bytes_of({0x93, 'N', 'U', 'M', 'P', 'Y', 1, 1, 0, 0}), 6, "found 1.1");
}

TEST(Npy, EveryTruncationIsAnError) {
  for (const unsigned major : {1U, 2U}) {
    const Bytes bytes = npy_header(dict_of("<i2", "(3,)"), major) + elements<std::int16_t>({1, 2, 3});
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_THROW(parse_npy(std::span(bytes).first(size), ""), IoError) << size;
    }
  }
  expect_npy_error(bytes_of({0x93, 'N', 'U', 'M', 'P', 'Y'}), 6, "expected the version");
  expect_npy_error(bytes_of({0x93, 'N', 'U', 'M', 'P', 'Y', 2, 0, 1, 0}), 10, "expected the length");
  expect_npy_error(bytes_of({0x93, 'N', 'U', 'M', 'P', 'Y', 2, 0, 0xFF, 0xFF, 0xFF, 0xFF}), 8,
                   "expected an NPY header of 4294967295 bytes, but 0 follow");
}

TEST(Npy, DamagedDict) {
  expect_header_error("", 0, "expected '{', found its end");
  expect_header_error("[1]", 0, "expected '{', found '[1]'");
  expect_header_error("{1: 2}", 1, "expected a key in quotes, found '1: 2}'");
  expect_header_error("{'descr", 1, "expected a key in quotes");
  expect_header_error("{'descr' '<f4'}", 9, "expected ':'");
  expect_header_error("{'order': 1}", 1, "found 'order'");
  expect_header_error("{'shape': (), 'shape': ()}", 14, "'shape' for the second time");
  expect_header_error("{'shape': () 'descr': '<f4'}", 13, "expected '}'");
  expect_header_error("{'shape': (), 'descr': '<f4'}", 29, "expected a dict with 'fortran_order'");
  expect_header_error("{}", 2, "expected a dict with 'descr'");
  expect_header_error("{'fortran_order': 1}", 18, "expected True or False, found '1}'");
  expect_header_error(dict_of("<f4", "()") + " x", 56, "expected the end of the header");
}

TEST(Npy, DamagedShape) {
  expect_header_error("{'shape': 3}", 10, "expected '('");
  expect_header_error("{'shape': [3]}", 10, "expected '('");
  expect_header_error("{'shape': (3)}", 12, "expected ',' behind the only axis");
  expect_header_error("{'shape': (3, -1)}", 14, "expected an axis, 0 to 2^63 - 1, found '-1)}'");
  expect_header_error("{'shape': (3 4)}", 13, "expected ','");
  expect_header_error("{'shape': (3, 4 5)}", 16, "expected ')'");
  expect_header_error("{'shape': (,)}", 11, "expected an axis");
  expect_header_error("{'shape': (9223372036854775808,)}", 11, "expected an axis");
  std::string axes;
  for (int i = 0; i < 65; ++i) axes += "1,";
  expect_header_error("{'shape': (" + axes + ")}", 139, "expected at most 64 axes");
}

TEST(Npy, OtherTypes) {
  for (const char* descr :
       {"<f2", "<u2", ">u4", "<u8", "<c8", "|S3", "<U3", "|O", "=f4", "|f4", "f4", "<b2", "", "<"}) {
    expect_header_error(dict_of(descr, "()"), 10, "convert the array with astype");
  }
  expect_header_error("{'descr': [('a', '<f4')]}", 10, "expected the type of the elements in quotes");
}

TEST(Npy, HeaderPromisesMore) {
  expect_npy_error(npy_header(dict_of("<f4", "(3,)")) + elements<float>({1, 2}), 75,
                   "shape [3] of float32, 3 elements, but 8 bytes follow");
  // Nothing near so large may be allocated.
  expect_npy_error(npy_header(dict_of("<f8", "(4611686018427387904,)")), 85, "but 0 bytes follow");
  expect_npy_error(npy_header(dict_of("<f8", "(4294967296, 4294967296)")), 0, "too many elements");
  expect_npy_error(npy_header(dict_of("<f8", "(0, 4294967296, 4294967296)")), 0, "too many elements");
}

TEST(Npy, HeaderPromisesLess) {
  expect_npy_error(npy_header(dict_of("<f4", "(1,)")) + elements<float>({1, 2}), 71, "4 bytes more than shape [1]");
}

TEST(Npy, NoFile) {
  const TemporaryDirectory directory;
  EXPECT_THROW(read_npy(directory.file("missing")), IoError);
  EXPECT_THROW(read_npy(directory.file("")), IoError);
}

}  // namespace
}  // namespace viva::data
