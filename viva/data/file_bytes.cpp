#include "viva/data/file_bytes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <new>
#include <string_view>
#include <system_error>

#include "viva/base/error.h"

namespace viva::data {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

std::string words_of(int error) { return std::generic_category().message(error); }

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISCHR(mode)) return "a character device";
  if (S_ISBLK(mode)) return "a block device";
  return "something else";
}

Descriptor open_for_reading(const std::string& path) {
  int number = -1;
  do {
    // Non-blocking, because opening a FIFO would wait for its writer.
    number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  } while (number < 0 && errno == EINTR);
  if (number < 0) throw IoError(path, -1, fmt::format("expected a readable file: {}", words_of(errno)));
  return Descriptor(number);
}

std::size_t read_some(const Descriptor& file, std::byte* to, std::size_t size, const std::string& path,
                      std::size_t offset) {
  while (true) {
    const ssize_t count = ::read(file.number(), to, size);
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) {
      throw IoError(path, static_cast<std::int64_t>(offset), fmt::format("cannot read: {}", words_of(errno)));
    }
  }
}

}  // namespace

FileBytes allocate_for_file(const std::string& path, std::size_t size) {
  try {
    return {make_aligned_bytes(size), size};
  } catch (const std::bad_alloc&) {
    throw IoError(path, -1, fmt::format("its contents need {} bytes of memory, more than this process can have", size));
  }
}

FileBytes read_file(const std::string& path) {
  // An embedded zero would end the name early for the system, and another file would be opened.
  if (path.find('\0') != std::string::npos) {
    throw IoError(path.c_str(), -1, "expected a file name, found one that goes on behind a zero byte");
  }
  const Descriptor file = open_for_reading(path);
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) throw IoError(path, -1, words_of(errno));
  if (!S_ISREG(status.st_mode)) {
    throw IoError(path, -1, fmt::format("expected a regular file, found {}", kind_of(status.st_mode)));
  }
  FileBytes bytes = allocate_for_file(path, static_cast<std::size_t>(status.st_size));
  std::size_t offset = 0;
  while (offset < bytes.size) {
    const std::size_t count = read_some(file, bytes.data.get() + offset, bytes.size - offset, path, offset);
    if (count == 0) {
      throw IoError(path, static_cast<std::int64_t>(offset),
                    fmt::format("the file ended early: it had {} bytes when it was opened", bytes.size));
    }
    offset += count;
  }
  return bytes;
}

}  // namespace viva::data
