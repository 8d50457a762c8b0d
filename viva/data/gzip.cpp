#include "viva/data/gzip.h"

#include <fmt/format.h>
#include <libdeflate.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "viva/base/error.h"

namespace viva::data {
namespace {

// A deflate match makes 258 bytes of at least 2 bits.
constexpr std::size_t kMostExpansion = 258 * 8 / 2;
constexpr std::size_t kBelievedExpansion = 16;

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* decompressor) const { libdeflate_free_decompressor(decompressor); }
};

// The last member's length modulo 2^32, as its trailer has it: a hint, of one member only.
std::size_t promised_size(std::span<const std::byte> packed) {
  std::size_t size = 0;
  for (const std::byte byte :
       {packed[packed.size() - 1], packed[packed.size() - 2], packed[packed.size() - 3], packed[packed.size() - 4]}) {
    size = size << 8 | std::to_integer<std::size_t>(byte);
  }
  return size;
}

[[noreturn]] void throw_damaged(const std::string& path, std::size_t member, std::size_t size) {
  throw IoError(path, static_cast<std::int64_t>(member),
                fmt::format("expected a whole gzip member in the remaining {} bytes; it is cut short or damaged: get "
                            "the file again",
                            size));
}

}  // namespace

bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

FileBytes gunzip(std::span<const std::byte> packed, const std::string& path, std::size_t most_bytes) {
  constexpr std::size_t kSmallestMember = 18;
  if (packed.size() < kSmallestMember) throw_damaged(path, 0, packed.size());
  const std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor(libdeflate_alloc_decompressor());
  if (!decompressor) throw std::bad_alloc();

  const std::size_t most = std::min(most_bytes, packed.size() * kMostExpansion);
  FileBytes out = allocate_for_file(path, std::min({promised_size(packed), packed.size() * kBelievedExpansion, most}));
  std::size_t read = 0, written = 0;
  while (read < packed.size()) {
    const auto rest = packed.subspan(read);
    if (!is_gzip(rest)) {
      throw IoError(path, static_cast<std::int64_t>(read),
                    fmt::format("{} bytes that are not gzip {}", rest.size(),
                                read == 0 ? "where a gzip file was expected" : "follow the end of the gzip data"));
    }
    std::size_t member_read = 0, member_written = 0;
    switch (libdeflate_gzip_decompress_ex(decompressor.get(), rest.data(), rest.size(), out.data.get() + written,
                                          out.size - written, &member_read, &member_written)) {
      case LIBDEFLATE_SUCCESS:
        read += member_read;
        written += member_written;
        break;
      case LIBDEFLATE_INSUFFICIENT_SPACE: {
        if (out.size >= most) {
          throw IoError(path, static_cast<std::int64_t>(read),
                        fmt::format("the gzip data unpacks to more than the {} bytes allowed for it", most));
        }
        // Twice what there was, so that the time stays proportional to the contents.
        FileBytes larger =
            allocate_for_file(path, std::min(std::max(2 * out.size, packed.size() * kBelievedExpansion), most));
        std::copy_n(out.data.get(), written, larger.data.get());
        out = std::move(larger);
        break;
      }
      default:
        throw_damaged(path, read, rest.size());
    }
  }
  out.size = written;
  return out;
}

}  // namespace viva::data
