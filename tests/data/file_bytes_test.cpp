// Reading whole files, and everything that is no file to read.
#include "viva/data/file_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "tests/data/idx_bytes.h"
#include "tests/data/temporary_directory.h"
#include "viva/base/error.h"

namespace viva::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string error_of_reading(const std::string& path) {
  try {
    read_file(path);
  } catch (const IoError& error) {
    EXPECT_EQ(error.path, path);
    return error.what();
  }
  return "no error";
}

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

TEST(ReadFile, MissingFile) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("missing");
  EXPECT_THAT(error_of_reading(path), AllOf(HasSubstr(path), HasSubstr("No such file or directory")));
  EXPECT_THAT(error_of_reading(""), HasSubstr("No such file or directory"));
}

TEST(ReadFile, NotARegularFile) {
  const TemporaryDirectory directory;
  EXPECT_THAT(error_of_reading(directory.file("")), HasSubstr("expected a regular file, found a directory"));
  EXPECT_THAT(error_of_reading("/dev/null"), HasSubstr("expected a regular file, found a character device"));
  const std::string fifo = directory.file("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(error_of_reading(fifo), HasSubstr("expected a regular file, found a FIFO"));
}

TEST(ReadFile, WithoutPermission) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read every file";
  const TemporaryDirectory directory;
  const std::string path = directory.write("secret", bytes_of({1}));
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  EXPECT_THAT(error_of_reading(path), HasSubstr("Permission denied"));
}

TEST(ReadFile, NameWithAZeroByte) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("name", bytes_of({1}));
  try {
    read_file(path + '\0' + "rest");
    FAIL() << "no error";
  } catch (const IoError& error) {
    EXPECT_EQ(error.path, path);
    EXPECT_THAT(error.what(), HasSubstr("zero byte"));
  }
}

}  // namespace
}  // namespace viva::data
