#include "viva/io/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "viva/base/descriptor.h"
#include "viva/base/error.h"

namespace viva::io {
namespace {

// The mode of a new file. umask(2) can only be read by setting it, which other threads would notice; where /proc does
// not tell it, the file stays its owner's.
mode_t new_file_mode() {
  std::ifstream status("/proc/self/status");
  for (std::string field; status >> field;) {
    if (field != "Umask:") continue;
    unsigned mask = 0;
    if (status >> std::oct >> mask) return static_cast<mode_t>(0666U & ~mask);
  }
  return 0600;
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), temporary_(path_ + ".tmp.XXXXXX") {
  descriptor_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
  if (descriptor_ < 0) {
    const int error = errno;
    throw IoError(path_, -1,
                  fmt::format("cannot create a temporary file beside it: {}", std::generic_category().message(error)));
  }
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* action) const {
  const int error = errno;
  throw IoError(path_, -1, fmt::format("cannot {}: {}", action, std::generic_category().message(error)));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (!write_all(descriptor_, bytes)) fail("write it");
}

void AtomicFile::close_file() {
  // Some file systems report a full disk only here. The descriptor is gone even when close() fails.
  if (::close(std::exchange(descriptor_, -1)) != 0) fail("write it");
}

void AtomicFile::commit() {
  if (::fchmod(descriptor_, new_file_mode()) != 0) fail("set its mode");
  if (::fsync(descriptor_) != 0) fail("bring it to the disk");
  close_file();
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("put the new file in its place");
  temporary_.clear();

  const std::string parent = std::filesystem::path(path_).parent_path().string();
  const int directory = ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) fail("open its directory to bring the new name to the disk");
  // A file system without fsync for directories says EINVAL: there is nothing more to do for it.
  const bool lost = ::fsync(directory) != 0 && errno != EINVAL;
  const int error = errno;
  ::close(directory);
  errno = error;
  if (lost) fail("bring its new name to the disk");
}

}  // namespace viva::io
