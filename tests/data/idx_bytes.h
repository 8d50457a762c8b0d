// IDX and gzip bytes, made for tests without the code under test.
#pragma once

#include <libdeflate.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <vector>

namespace viva::data {

using Bytes = std::vector<std::byte>;

inline Bytes bytes_of(std::initializer_list<unsigned> values) {
  Bytes bytes;
  for (const unsigned value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

inline void append(Bytes& to, const Bytes& bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

inline Bytes operator+(Bytes a, const Bytes& b) {
  append(a, b);
  return a;
}

template <typename T>
Bytes big_endian_bytes(T value) {
  static_assert(std::endian::native == std::endian::little);
  Bytes bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

inline Bytes idx_header(unsigned code, const std::vector<std::uint32_t>& shape) {
  Bytes bytes = bytes_of({0, 0, code, static_cast<unsigned>(shape.size())});
  for (const std::uint32_t axis : shape) append(bytes, big_endian_bytes(axis));
  return bytes;
}

template <typename T>
Bytes idx_bytes(unsigned code, const std::vector<std::uint32_t>& shape, const std::vector<T>& values) {
  Bytes bytes = idx_header(code, shape);
  for (const T value : values) append(bytes, big_endian_bytes(value));
  return bytes;
}

// One gzip member.
inline Bytes gzip_bytes(std::span<const std::byte> bytes, int level = 6) {
  libdeflate_compressor* compressor = libdeflate_alloc_compressor(level);
  Bytes packed(libdeflate_gzip_compress_bound(compressor, bytes.size()));
  packed.resize(libdeflate_gzip_compress(compressor, bytes.data(), bytes.size(), packed.data(), packed.size()));
  libdeflate_free_compressor(compressor);
  return packed;
}

}  // namespace viva::data
