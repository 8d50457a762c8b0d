#include "viva/io/safetensors.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "tests/temporary_directory.h"
#include "viva/base/error.h"

namespace viva::io {
namespace {

using testing::HasSubstr;

// A file's bytes: the header's length, the header, `data_size` bytes of data.
std::string file_of(const std::string& header, std::size_t data_size) {
  const std::uint64_t length = header.size();
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes + header + std::string(data_size, '\1');
}

std::vector<Param> parse(const std::string& bytes) {
  return parse_safetensors(std::as_bytes(std::span(bytes)), "m.safetensors");
}

std::string error_of(const std::string& bytes) {
  try {
    parse(bytes);
  } catch (const IoError& error) {
    return error.what();
  }
  return "no error";
}

std::string tensor(const std::string& name, const std::string& dtype, const std::string& shape,
                   const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

Tensor random_tensor() {
  const auto shape = *rc::gen::resize(3, rc::gen::container<Shape>(rc::gen::inRange<std::int64_t>(0, 5)));
  const auto dtype = *rc::gen::element(Dtype::kFloat32, Dtype::kFloat64, Dtype::kUInt8, Dtype::kInt8, Dtype::kInt16,
                                       Dtype::kInt32, Dtype::kInt64);
  const Tensor value = Tensor::zeros(shape, dtype);
  for (std::byte& byte : value.mutable_bytes()) byte = static_cast<std::byte>(*rc::gen::arbitrary<std::uint8_t>());
  return value;
}

RC_GTEST_PROP(Safetensors, ReadsWhatItWrote, ()) {
  const auto names = *rc::gen::resize(6, rc::gen::arbitrary<std::set<std::string>>());
  std::vector<Param> params;
  for (const std::string& name : names) {
    // A generated name may hold any byte; the format takes only UTF-8, of which ASCII is enough here.
    std::string ascii = name;
    for (char& c : ascii) c = static_cast<char>(c & 0x7f);
    ascii += std::to_string(params.size());
    params.push_back({ascii, random_tensor()});
  }
  const TemporaryDirectory directory;
  const std::string path = directory.file("p.safetensors");
  write_safetensors(path, params);
  const std::vector<Param> read = read_safetensors(path);
  RC_ASSERT(read.size() == params.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    RC_ASSERT(read[i].name == params[i].name);
    RC_ASSERT(bitwise_equal(read[i].value, params[i].value));
  }
}

RC_GTEST_PROP(Safetensors, DamageIsAnErrorAndNothingWorse, ()) {
  std::string bytes =
      file_of("{" + tensor("a", "F32", "[2]", "[0,8]") + "," + tensor("b", "I16", "[]", "[8,10]") + "}", 10);
  const auto flips =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, bytes.size())));
  for (const std::size_t at : flips) bytes[at] = *rc::gen::arbitrary<char>();
  if (*rc::gen::arbitrary<bool>()) bytes.resize(*rc::gen::inRange<std::size_t>(0, bytes.size()));
  try {
    parse(bytes);
  } catch (const IoError& error) {
    RC_ASSERT(error.path == "m.safetensors");
  }
}

TEST(Safetensors, TheOrderIsThatOfTheData) {
  const auto params = parse(file_of("{" + tensor("late", "U8", "[2]", "[1,3]") + ",\"__metadata__\":{\"k\":\"v\"}," +
                                        tensor("early", "U8", "[1]", "[0,1]") + "}   ",
                                    3));
  ASSERT_EQ(params.size(), 2);
  EXPECT_EQ(params[0].name, "early");
  EXPECT_EQ(params[1].name, "late");
  EXPECT_EQ(params[1].value.shape(), Shape{2});
}

// Made by the safetensors 0.4.5 package for Python: serialize() of "w" (F32, [2]: 1, -2) and "b" (I64, []: 7).
TEST(Safetensors, ReadsPythonsFile) {
  const std::string header =
      R"({"b":{"dtype":"I64","shape":[],"data_offsets":[0,8]},"w":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}     )";
  const std::string bytes =
      file_of(header, 0) + std::string("\007\000\000\000\000\000\000\000\000\000\200\077\000\000\000\300", 16);
  const auto params = parse(bytes);
  ASSERT_EQ(params.size(), 2);
  EXPECT_EQ(params[0].name, "b");
  EXPECT_TRUE(bitwise_equal(params[0].value, Tensor::from_values<std::int64_t>({7}, {})));
  EXPECT_EQ(params[1].name, "w");
  EXPECT_TRUE(bitwise_equal(params[1].value, Tensor::from_values<float>({1, -2})));
}

TEST(Safetensors, EveryDefectHasItsMessage) {
  const std::string huge = std::to_string(std::numeric_limits<std::uint64_t>::max());
  const std::string good = tensor("a", "F32", "[2]", "[0,8]");
  struct Case {
    std::string bytes;
    const char* message;
  };
  const std::vector<Case> cases = {
      {"", "at byte 0: expected a safetensors file, found only 0 bytes"},
      {"1234567", "found only 7 bytes"},
      {std::string(8, '\xff'), "expected the length of a safetensors header, at most 0, found 18446744073709551615"},
      {file_of("{}", 0).substr(0, 9), "at most 1, found 2"},
      {file_of("", 0), "at byte 8: the safetensors header is no valid JSON"},
      {file_of("{" + good, 8), "the safetensors header is no valid JSON"},
      {file_of("{\"\xff\":1}", 0), "the safetensors header is no valid JSON"},
      {file_of("[]", 0), "expected an object, found an array"},
      {file_of("7", 0), "expected an object, found 7"},
      {file_of("{\"a\":null}", 0), "expected an object for 'a', found null"},
      {file_of("{\"a\":{}}", 0), "tensor 'a': expected the fields dtype, shape and data_offsets, found fewer"},
      {file_of("{\"a\":{\"dtype\":1}}", 0), "tensor 'a': expected a string for \"dtype\", found 1"},
      {file_of("{\"a\":{\"shape\":{}}}", 0), "tensor 'a': expected an array for \"shape\", found an object"},
      {file_of("{\"a\":{\"offsets\":[]}}", 0), "tensor 'a': unknown field \"offsets\""},
      {file_of("{\"a\":{\"shape\":[],\"shape\":[]}}", 0), "tensor 'a': the field \"shape\" occurs twice"},
      {file_of("{\"__metadata__\":{\"k\":1}}", 0), "expected strings in __metadata__, found 1"},
      {file_of("{" + tensor("a", "BF16", "[4]", "[0,8]") + "}", 8), "tensor 'a': viva has no dtype \"BF16\""},
      {file_of("{" + tensor("a", "F32", "[-2]", "[0,8]") + "}", 8), "from 0 in \"shape\", found -2"},
      {file_of("{" + tensor("a", "F32", "[2.0]", "[0,8]") + "}", 8), "from 0 in \"shape\", found 2.0"},
      {file_of("{" + tensor("a", "F32", "[[2]]", "[0,8]") + "}", 8), "from 0 in \"shape\", found an array"},
      {file_of("{" + tensor("a", "F32", "[" + huge + "]", "[0,8]") + "}", 8), "tensor 'a': a dimension of 18446744"},
      {file_of("{" + tensor("a", "F64", "[4611686018427387904,4]", "[0,8]") + "}", 8), "overflows"},
      {file_of("{" + tensor("a", "F64", "[4611686018427387904]", "[0,0]") + "}", 0), "overflows"},
      {file_of("{" + tensor("a", "F32", "[2]", "[0]") + "}", 8), "tensor 'a': expected two data_offsets, found fewer"},
      {file_of("{" + tensor("a", "F32", "[2]", "[0,8,9]") + "}", 8), "expected two data_offsets, found more"},
      {file_of("{" + good + "}", 7), "tensor 'a': its data_offsets [0, 8] are not within the 7 bytes of data"},
      {file_of("{" + tensor("a", "F32", "[2]", "[8,0]") + "}", 8), "data_offsets [8, 0] are not within"},
      {file_of("{" + tensor("a", "F32", "[2]", "[0," + huge + "]") + "}", 8), "are not within the 8 bytes"},
      {file_of("{" + tensor("a", "F32", "[3]", "[0,8]") + "}", 8), "shape [3] needs 12 bytes"},
      {file_of("{" + good + "," + good + "}", 8), "the name 'a' occurs twice"},
      {file_of("{" + good + "," + tensor("b", "U8", "[5]", "[7,12]") + "}", 12), "found 7 (they overlap)"},
      {file_of("{" + good + "," + tensor("b", "U8", "[3]", "[9,12]") + "}", 12), "found 9 (a gap)"},
      {file_of("{" + good + "}", 9), "expected the file to end behind the last tensor, found 1 more bytes"},
  };
  for (const Case& defect : cases) EXPECT_THAT(error_of(defect.bytes), HasSubstr(defect.message)) << defect.bytes;
}

TEST(Safetensors, ReadingNamesTheFile) {
  const TemporaryDirectory directory;
  EXPECT_THROW(read_safetensors(directory.file("none")), IoError);
  EXPECT_THROW(read_safetensors(directory.file("")), IoError);
}

TEST(Safetensors, RefusesNamesThatTheFormatCannotHold) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("p.safetensors");
  const Tensor value = Tensor::zeros({1});
  const auto error_of_names = [&](const std::string& first, const std::string& second) -> std::string {
    try {
      write_safetensors(path, std::vector<Param>{{first, value}, {second, value}});
    } catch (const DimensionError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(error_of_names("a", "a"), HasSubstr("'a': it occurs twice"));
  EXPECT_THAT(error_of_names("a", "__metadata__"), HasSubstr("keeps it for itself"));
  EXPECT_THAT(error_of_names("a", "\xc3"), HasSubstr("not UTF-8"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace viva::io
