// Reading whole files.
#include "viva/data/file_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/data/idx_bytes.h"
#include "tests/temporary_directory.h"
#include "viva/base/error.h"

namespace viva::data {
namespace {

TEST(ReadFile, EveryByte) {
  const TemporaryDirectory directory;
  Bytes written;
  for (unsigned i = 0; i < 100000; ++i) written.push_back(static_cast<std::byte>(i * 31 >> 3));
  const FileBytes read = read_file(directory.write("bytes", written));
  EXPECT_TRUE(std::equal(written.begin(), written.end(), read.span().begin(), read.span().end()));
}

TEST(ReadFile, EmptyFile) {
  const TemporaryDirectory directory;
  EXPECT_EQ(read_file(directory.write("empty", {})).size, 0U);
}

TEST(ReadFile, NamesTheFile) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("missing");
  try {
    read_file(path);
    FAIL() << "no error";
  } catch (const IoError& error) {
    EXPECT_EQ(error.path, path);
  }
}

}  // namespace
}  // namespace viva::data
