#include "viva/io/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>

#include "viva/base/error.h"
#include "viva/base/input_file.h"
#include "viva/io/atomic_file.h"
#include "viva/io/safetensors_header.h"

namespace viva::io {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are written as they lie in memory");

// Fills the span with the file's bytes from the offset on.
using ReadAt = std::function<void(std::uint64_t offset, std::span<std::byte> out)>;

std::vector<Param> read(std::uint64_t file_size, const std::string& path, const ReadAt& read_at) {
  if (file_size < kSafetensorsPrefix) {
    throw IoError(path, 0, fmt::format("expected a safetensors file, found only {} bytes", file_size));
  }
  std::uint64_t header_size = 0;
  read_at(0, std::as_writable_bytes(std::span(&header_size, 1)));
  if (header_size > kMaxSafetensorsHeader || header_size > file_size - kSafetensorsPrefix) {
    throw IoError(path, 0,
                  fmt::format("expected the length of a safetensors header, at most {}, found {}",
                              std::min(kMaxSafetensorsHeader, file_size - kSafetensorsPrefix), header_size));
  }
  std::string header(header_size, '\0');
  read_at(kSafetensorsPrefix, std::as_writable_bytes(std::span(header)));

  const std::uint64_t data_begin = kSafetensorsPrefix + header_size;
  std::vector<Param> params;
  for (SafetensorsEntry& entry : parse_safetensors_header(header, file_size - data_begin, path)) {
    Tensor value = Tensor::zeros(std::move(entry.shape), entry.dtype);
    read_at(data_begin + entry.begin, value.mutable_bytes());
    params.push_back({std::move(entry.name), std::move(value)});
  }
  return params;
}

}  // namespace

SafetensorsBytes make_safetensors(std::span<const Param> params, const std::string& path) {
  const std::string header = make_safetensors_header(params, path);
  const std::uint64_t header_size = header.size();
  SafetensorsBytes made{std::string(kSafetensorsPrefix, '\0') + header, {}};
  std::memcpy(made.start.data(), &header_size, kSafetensorsPrefix);
  for (const Param& param : params) made.pieces.push_back(param.value.bytes());
  return made;
}

void write_safetensors(const std::string& path, std::span<const Param> params) {
  const SafetensorsBytes content = make_safetensors(params, path);
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(content.start)));
  for (const auto piece : content.pieces) file.write(piece);
  file.commit();
}

std::vector<Param> read_safetensors(const std::string& path) {
  const InputFile file(path);
  return read(file.size(), path, [&](std::uint64_t offset, std::span<std::byte> out) { file.read_at(offset, out); });
}

std::vector<Param> parse_safetensors(std::span<const std::byte> bytes, const std::string& path) {
  return read(bytes.size(), path, [&](std::uint64_t offset, std::span<std::byte> out) {
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
  });
}

}  // namespace viva::io
