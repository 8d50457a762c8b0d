// CSV: what RFC 4180 allows, numbers as they are written, and the place of everything that is wrong.
#include "viva/data/csv.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tests/temporary_directory.h"

namespace viva::data {
namespace {

using ::testing::HasSubstr;

const CsvDatasetOptions kNumbers{.target = CsvTarget::kNumber};

Dataset parse(const std::string& text, const CsvDatasetOptions& options = {}) {
  return parse_csv_dataset(std::as_bytes(std::span(text)), "a.csv", options);
}

void expect_csv_error(const std::string& text, std::int64_t offset, const std::string& words,
                      const CsvDatasetOptions& options = {}) {
  try {
    parse(text, options);
    FAIL() << "no error, expected: " << words;
  } catch (const IoError& error) {
    EXPECT_EQ(error.path, "a.csv");
    EXPECT_EQ(error.offset, offset) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(words));
  }
}

void expect_sample(const Sample& sample, const std::vector<float>& input, std::int32_t target) {
  EXPECT_TRUE(bitwise_equal(sample.input, Tensor::from_values(input)));
  EXPECT_TRUE(bitwise_equal(sample.target, Tensor::from_values<std::int32_t>({target}, {})));
}

// Two samples, (1.5, -2) -> 0 and (3, 4e2) -> 1.
void expect_two_samples(const Dataset& dataset) {
  ASSERT_EQ(dataset.size(), 2);
  expect_sample(dataset.get(0), {1.5, -2}, 0);
  expect_sample(dataset.get(1), {3, 400}, 1);
}

TEST(Csv, InputsAndClasses) {
  expect_two_samples(parse("a,b,kind\n1.5,-2,0\n3,4e2,1\n"));
  const TemporaryDirectory directory;
  const std::string text = "a,b,kind\n1.5,-2,0\n3,4e2,1\n";
  expect_two_samples(load_csv_dataset(directory.write("a.csv", std::as_bytes(std::span(text)))));
}

TEST(Csv, EveryWayToWriteIt) {
  expect_two_samples(parse("a,b,kind\r\n1.5,-2,0\r\n3,4e2,1\r\n"));
  expect_two_samples(parse("a,b,kind\n1.5,-2,0\n3,4e2,1"));
  expect_two_samples(parse("a,b,kind\n1.5,-2,0\n3,4e2,1\n\r\n\n"));
  expect_two_samples(parse("\xEF\xBB\xBFkind,a,b\n0,1.5,-2\n1,3,4e2", {.target_column = "kind"}));
  expect_two_samples(parse("a, b ,\tkind\n 1.5,-2 , 0\n3,\t4e2,1"));
  expect_two_samples(parse("\"a\",b,\"kind\"\n\"1.5\",\"-2\",0\n3,\" 4e2\",\"1\"\r\n"));
  expect_two_samples(parse("\"a,b\",\"a\"\"b\nc\",kind\n1.5,-2,0\n3,4e2,1"));
  expect_two_samples(parse("a;b;kind\n1.5;-2;0\n3;4e2;1", {.delimiter = ';'}));
  expect_two_samples(parse("a\tb\tkind\n1.5\t-2\t0\n3\t4e2\t1", {.delimiter = '\t'}));
}

TEST(Csv, TheTargetIsAnyColumn) {
  const std::string text = "kind,a,b\n0,1.5,-2\n1,3,4e2\n";
  expect_two_samples(parse(text, {.target_column = "kind"}));
  expect_two_samples(parse(text, {.target_column = 0}));
  expect_two_samples(parse(text, {.target_column = -3}));
  expect_two_samples(parse("a,kind,b\n1.5,0,-2\n3,1,4e2\n", {.target_column = 1}));
}

TEST(Csv, NumbersAsTargets) {
  const Dataset dataset = parse("a,price\n1,2.5\n3,-0.5\n", kNumbers);
  EXPECT_TRUE(bitwise_equal(dataset.get(0).target, Tensor::from_values<float>({2.5})));
  EXPECT_TRUE(bitwise_equal(dataset.get(1).target, Tensor::from_values<float>({-0.5})));
  EXPECT_EQ(dataset.spec().target_dtype, Dtype::kFloat32);
}

TEST(Csv, NumbersAtTheEndsOfFloat32) {
  const Dataset dataset = parse("a,b,c,d,kind\n3.4028235e38,1e-45,-1e-60,16777217,2147483647\n");
  expect_sample(dataset.get(0),
                {std::numeric_limits<float>::max(), std::numeric_limits<float>::denorm_min(), -0.0F, 16777216.0F},
                std::numeric_limits<std::int32_t>::max());
}

RC_GTEST_PROP(Csv, EveryFloatComesBack, (const std::vector<std::uint32_t>& patterns)) {
  std::string text = "x,y\n";
  std::vector<float> values;
  for (const std::uint32_t pattern : patterns) {
    float value = 0;
    std::memcpy(&value, &pattern, sizeof(value));
    if (!std::isfinite(value)) continue;
    values.push_back(value);
    text += fmt::format("{},{}\n", value, value);
  }
  RC_PRE(!values.empty());
  const Dataset dataset = parse(text, kNumbers);
  RC_ASSERT(dataset.size() == static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Sample sample = dataset.get(static_cast<std::int64_t>(i));
    RC_ASSERT(bitwise_equal(sample.input, Tensor::from_values<float>({values[i]})));
    RC_ASSERT(bitwise_equal(sample.target, sample.input));
  }
}

TEST(Csv, CellsThatAreNoNumbers) {
  expect_csv_error("a,kind\n1,0\nred,1\n", 11, "line 3, column 1 ('a'): expected a number, found 'red'");
  expect_csv_error("a,kind\n1x,0\n", 7, "found '1x'");
  expect_csv_error("a,kind\n0x10,0\n", 7, "found '0x10'");
  expect_csv_error("a,kind\n1 2,0\n", 7, "found '1 2'");
  expect_csv_error("a;kind\n1,5;0\n", 7, "found '1,5'", {.delimiter = ';'});
  expect_csv_error("a,kind\n" + std::string(100, 'x') + ",0\n", 7, "found '" + std::string(40, 'x') + "...'");
  expect_csv_error("a,kind\n\"1\n2\",0\n", 7, "line 2, column 1 ('a'): expected a number");
}

TEST(Csv, MissingCells) {
  expect_csv_error("a,b,kind\n1,,0\n", 11, "line 2, column 2 ('b'): expected a number, found an empty cell");
  expect_csv_error("a,b,kind\n1,  ,0\n", 11, "found an empty cell");
  expect_csv_error("a,b,kind\n1,\"\",0\n", 11, "found an empty cell");
  expect_csv_error("a,kind\n1,\n", 9, "line 2, column 2 ('kind'): expected a class, a whole number from 0");
  expect_csv_error("a,kind\n1,", 9, "found an empty cell");
}

TEST(Csv, NumbersThatAreNotFinite) {
  for (const char* cell : {"nan", "NaN", "inf", "-inf", "Infinity"}) {
    expect_csv_error(fmt::format("a,kind\n1,0\n{},0\n", cell), 11,
                     fmt::format("line 3, column 1 ('a'): expected a finite number, found '{}'", cell));
  }
  expect_csv_error("a,kind\n1e39,0\n", 7, "expected a number that float32 can hold, found '1e39'");
  expect_csv_error("a,y\n1,-1e400\n", 6, "line 2, column 2 ('y'): expected a number that float32", kNumbers);
}

TEST(Csv, ClassesAreWholeNumbersFromZero) {
  for (const char* cell : {"-1", "1.0", "2147483648", "setosa", "1e3", "-0", "nan"}) {
    expect_csv_error(
        fmt::format("a,kind\n1,{}\n", cell), 9,
        fmt::format("line 2, column 2 ('kind'): expected a class, a whole number from 0 to 2147483647, found "
                    "'{}'",
                    cell));
  }
}

TEST(Csv, AnotherNumberOfColumns) {
  expect_csv_error("a,b,kind\n1,2,0\n1,0\n", 17, "line 3, column 2: expected 3 columns, as in the header, found 2");
  expect_csv_error("a,b,kind\n1,2,0,7,8\n", 15, "line 2, column 4: expected 3 columns, as in the header, found 5");
  // A quoted cell over two lines counts as two.
  expect_csv_error("a,\"b\n\",kind\n1,2\n", 14, "line 3, column 2: expected 3 columns");
}

TEST(Csv, EmptyLineBetweenOthers) {
  expect_csv_error("a,kind\n1,0\n\n2,1\n", 11, "line 3, column 1: expected cells, found an empty line");
  expect_csv_error("\na,kind\n1,0\n", 0, "line 1, column 1: expected cells");
}

TEST(Csv, Quotes) {
  expect_csv_error("a,kind\n1,0\n\"2,1\n3,0\n", 11, "line 3, column 1: its quote is never closed");
  expect_csv_error("a,kind\n\"1\"\"", 7, "its quote is never closed");
  expect_csv_error("a,kind\n1\"2,0\n", 7, "line 2, column 1: expected a cell without quotes");
  expect_csv_error("a,kind\n\"1\"2,0\n", 7, "line 2, column 1: expected the end of the cell behind its closing quote");
}

TEST(Csv, Header) {
  expect_csv_error("", -1, "expected a header line, found an empty file");
  expect_csv_error("\xEF\xBB\xBF\n\n", -1, "expected a header line");
  expect_csv_error("a,b, a\n1,2,0\n", 4, "line 1, column 3 ('a'): column 1 has the same name");
  expect_csv_error("0,0,5\n", 2, "the first line must name the columns");
  expect_csv_error("a\n1\n", 0, "expected at least two columns between ',', an input and the target, found one: 'a'");
  expect_csv_error("a;b\n1;2\n", 0, "found one: 'a;b'");
  expect_csv_error("a,b\n", -1, "expected samples below the header line, found none");
}

TEST(Csv, OptionsThatCannotBe) {
  const auto error_of = [](const CsvDatasetOptions& options, const std::string& key) -> std::string {
    try {
      parse("a,b,kind\n1,2,0\n", options);
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.key, key);
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(error_of({.target_column = "king"}, "target_column"),
              HasSubstr("a.csv has no column 'king'; its 3 columns are a, b, kind"));
  EXPECT_THAT(error_of({.target_column = 3}, "target_column"), HasSubstr("no column 3, counted from 0"));
  EXPECT_THAT(error_of({.target_column = -4}, "target_column"), HasSubstr("no column -4"));
  for (const char delimiter : {'"', '\n', '\r'}) {
    EXPECT_THAT(error_of({.delimiter = delimiter}, "delimiter"), HasSubstr("found a quote or the end of a line"));
  }
}

TEST(Csv, NoFile) {
  const TemporaryDirectory directory;
  EXPECT_THROW(load_csv_dataset(directory.file("missing")), IoError);
  EXPECT_THROW(load_csv_dataset(directory.file("")), IoError);
}

}  // namespace
}  // namespace viva::data
