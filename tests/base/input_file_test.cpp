#include "viva/base/input_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "tests/temporary_directory.h"
#include "viva/base/error.h"

namespace viva {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string write(const TemporaryDirectory& directory, std::string_view text) {
  return directory.write("a", std::as_bytes(std::span(text)));
}

std::string error_of(const std::string& path) {
  try {
    const InputFile file(path);
  } catch (const IoError& error) {
    return error.what();
  }
  return "no error";
}

TEST(InputFile, ReadsAtAnyPlace) {
  const TemporaryDirectory directory;
  const InputFile file(write(directory, "0123456789"));
  EXPECT_EQ(file.size(), 10);
  std::string text(4, ' ');
  file.read_at(3, std::as_writable_bytes(std::span(text)));
  EXPECT_EQ(text, "3456");
}

TEST(InputFile, SaysWhereTheFileEnds) {
  const TemporaryDirectory directory;
  const std::string path = write(directory, "0123456789");
  const InputFile file(path);
  std::filesystem::resize_file(path, 5);
  std::string text(4, ' ');
  try {
    file.read_at(3, std::as_writable_bytes(std::span(text)));
    FAIL();
  } catch (const IoError& error) {
    EXPECT_EQ(error.offset, 5);
    EXPECT_THAT(error.what(), HasSubstr("expected 2 more bytes"));
  }
}

TEST(InputFile, MissingFile) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("none");
  EXPECT_THAT(error_of(path), AllOf(HasSubstr(path), HasSubstr("cannot open it: No such file")));
  EXPECT_THAT(error_of(""), HasSubstr("No such file"));
}

TEST(InputFile, TakesOnlyRegularFiles) {
  const TemporaryDirectory directory;
  EXPECT_THAT(error_of(directory.file("")), HasSubstr("expected a regular file, found a directory"));
  EXPECT_THAT(error_of("/dev/null"), HasSubstr("expected a regular file, found a character device"));
  ASSERT_EQ(::mkfifo(directory.file("pipe").c_str(), 0600), 0);
  EXPECT_THAT(error_of(directory.file("pipe")), HasSubstr("expected a regular file, found a FIFO"));
}

TEST(InputFile, WithoutPermission) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read every file";
  const TemporaryDirectory directory;
  const std::string path = write(directory, "secret");
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  EXPECT_THAT(error_of(path), HasSubstr("Permission denied"));
}

TEST(InputFile, NameWithAZeroByte) {
  const TemporaryDirectory directory;
  const std::string path = write(directory, "0123456789");
  EXPECT_THAT(error_of(path + '\0' + "rest"), AllOf(HasSubstr(path), HasSubstr("zero byte")));
}

TEST(ReadTextFile, HasALimit) {
  const TemporaryDirectory directory;
  const std::string path = write(directory, "0123456789");
  EXPECT_EQ(read_text_file(path, 10), "0123456789");
  EXPECT_THROW(read_text_file(path, 9), IoError);
}

}  // namespace
}  // namespace viva
