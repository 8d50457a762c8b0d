#include "viva/io/atomic_file.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "tests/temporary_directory.h"
#include "viva/base/error.h"

namespace viva::io {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::ptrdiff_t files_in(const TemporaryDirectory& directory) {
  return std::distance(fs::directory_iterator(directory.file("")), {});
}

// No file may grow beyond `bytes` while this lives, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit old_{};
  void (*old_handler_)(int);
};

TEST(AtomicFile, ReplacesTheOldFileOnlyAtCommit) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("a", bytes("old"));
  AtomicFile file(path);
  file.write(bytes("new "));
  file.write(bytes("content"));
  EXPECT_EQ(content(path), "old");
  file.commit();
  EXPECT_EQ(content(path), "new content");
  EXPECT_EQ(files_in(directory), 1);
}

TEST(AtomicFile, WithoutCommitNothingHasHappened) {
  const TemporaryDirectory directory;
  { AtomicFile(directory.file("a")).write(bytes("abandoned")); }
  EXPECT_EQ(files_in(directory), 0);
}

TEST(AtomicFile, IsPrivateUntilCommitAndThenHasTheModeOfANewFile) {
  const TemporaryDirectory directory;
  const mode_t old_mask = ::umask(0027);
  AtomicFile file(directory.file("a"));
  const fs::path temporary = fs::directory_iterator(directory.file(""))->path();
  EXPECT_EQ(fs::status(temporary).permissions(), fs::perms{0600});
  file.commit();
  ::umask(old_mask);
  EXPECT_EQ(fs::status(directory.file("a")).permissions(), fs::perms{0640});
}

TEST(AtomicFile, AFailedWriteLeavesTheOldFileAndNoTemporary) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("a", bytes("old"));
  std::string message;
  {
    const FileSizeLimit limit(8);
    try {
      AtomicFile file(path);
      file.write(bytes("longer than eight bytes"));
      file.commit();
    } catch (const IoError& error) {
      EXPECT_EQ(error.path, path);
      message = error.what();
    }
  }
  EXPECT_THAT(message, HasSubstr("cannot write it: File too large"));
  EXPECT_EQ(content(path), "old");
  EXPECT_EQ(files_in(directory), 1);
}

TEST(AtomicFile, AFailedCommitLeavesNoTemporary) {
  const TemporaryDirectory directory;
  fs::create_directory(directory.file("a"));
  {
    AtomicFile file(directory.file("a"));
    EXPECT_THROW(file.commit(), IoError);
  }
  EXPECT_EQ(files_in(directory), 1);
}

TEST(AtomicFile, NeedsADirectory) {
  const TemporaryDirectory directory;
  try {
    const AtomicFile file(directory.file("missing/a"));
    FAIL();
  } catch (const IoError& error) {
    EXPECT_THAT(error.what(), HasSubstr("missing/a: cannot create a temporary file beside it: No such file"));
  }
}

}  // namespace
}  // namespace viva::io
