#include "viva/base/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "viva/base/error.h"

namespace viva {
namespace {

[[noreturn]] void fail(const std::string& path, std::int64_t offset, const char* action) {
  const int error = errno;
  throw IoError(path, offset, fmt::format("cannot {}: {}", action, std::generic_category().message(error)));
}

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISCHR(mode)) return "a character device";
  if (S_ISBLK(mode)) return "a block device";
  return "something else";
}

}  // namespace

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  // The system would stop at the zero and open another file.
  if (path_.find('\0') != std::string::npos) {
    throw IoError(path_.c_str(), -1, "expected a file name, found one that goes on behind a zero byte");
  }
  do {
    // O_NONBLOCK: opening a FIFO must not wait for a writer.
    descriptor_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  } while (descriptor_ < 0 && errno == EINTR);
  if (descriptor_ < 0) fail(path_, -1, "open it");
  struct stat status = {};
  const bool known = ::fstat(descriptor_, &status) == 0;
  if (known && S_ISREG(status.st_mode)) {
    size_ = static_cast<std::uint64_t>(status.st_size);
    return;
  }
  const int error = errno;
  ::close(descriptor_);
  errno = error;
  if (!known) fail(path_, -1, "examine it");
  throw IoError(path_, -1, fmt::format("expected a regular file, found {}", kind_of(status.st_mode)));
}

InputFile::~InputFile() { ::close(descriptor_); }

void InputFile::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0) {
      if (errno == EINTR) continue;
      fail(path_, static_cast<std::int64_t>(offset), "read it");
    }
    if (got == 0) {
      throw IoError(path_, static_cast<std::int64_t>(offset),
                    fmt::format("expected {} more bytes, but the file ends here", out.size()));
    }
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

std::string read_text_file(const std::string& path, std::uint64_t max_size) {
  const InputFile file(path);
  if (file.size() > max_size) {
    throw IoError(path, -1, fmt::format("expected at most {} bytes, found {}", max_size, file.size()));
  }
  std::string text(file.size(), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace viva
