// Descriptor: a file descriptor that is closed with its owner, and a write to one that is complete.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <span>
#include <utility>

namespace viva {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    close();
    descriptor_ = std::exchange(other.descriptor_, -1);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return descriptor_; }
  bool open() const { return descriptor_ >= 0; }
  // Not repeated after EINTR: Linux has closed it all the same.
  void close() {
    if (open()) ::close(descriptor_);
    descriptor_ = -1;
  }

 private:
  int descriptor_ = -1;
};

// Writes all of the bytes, whatever interrupts; false, with errno, where it cannot.
bool write_all(int descriptor, std::span<const std::byte> bytes);

}  // namespace viva
