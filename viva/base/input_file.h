// InputFile: a regular file, read at given places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace viva {

// Thread-safe.
class InputFile {
 public:
  // IoError with the system's words where it cannot be opened. Whatever is no regular file (a directory, a FIFO, a
  // device) is refused without waiting for it.
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  // Bytes, as it was opened.
  std::uint64_t size() const { return size_; }
  // Fills `out` with the bytes from `offset` on; IoError where the file has come to end before.
  void read_at(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

// A whole text file of at most `max_size` bytes; IoError for a larger one.
std::string read_text_file(const std::string& path, std::uint64_t max_size);

}  // namespace viva
