// AtomicFile: a file that appears complete or not at all.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace viva::io {

// Writes to a temporary file beside `path`, readable by its owner only, which commit() puts in the place of `path`. An
// earlier file stays as it is until then. Every error is an IoError with the system's words and leaves no temporary.
// Used by one thread.
class AtomicFile {
 public:
  // Creates the temporary. The directory must exist.
  explicit AtomicFile(std::string path);
  // Removes the temporary where commit() has not been reached.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Appends.
  void write(std::span<const std::byte> bytes);

  // Brings the content to the disk, gives the file the mode that a new file has (0666 without the umask), renames it
  // to `path` and brings the directory to the disk. Once.
  void commit();

 private:
  [[noreturn]] void fail(const char* action) const;
  void close_file();

  std::string path_, temporary_;
  int descriptor_ = -1;
};

}  // namespace viva::io
