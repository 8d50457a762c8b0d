// Gzip (RFC 1952), unpacked in memory.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>

#include "viva/data/file_bytes.h"

namespace viva::data {

// No limit but what the packed bytes can hold.
inline constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

// Whether `bytes` begin as gzip does.
bool is_gzip(std::span<const std::byte> bytes);

// All members of `packed`, the contents of `path`, one after the other. IoError with the packed offset for a member
// that is cut short or damaged (its data, length or checksum), for bytes behind the last member, and for more than
// `most_bytes` of contents. Memory follows the contents, never above what deflate can produce of `packed`; the length
// that the trailer promises is only believed up to 16 times the packed size.
FileBytes gunzip(std::span<const std::byte> packed, const std::string& path, std::size_t most_bytes = kUnlimited);

}  // namespace viva::data
