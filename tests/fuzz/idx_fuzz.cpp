// Any bytes as an IDX file, plain or gzip: a tensor, or a viva::Error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "viva/data/idx.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMostUnpacked = std::size_t{1} << 24;
  try {
    const viva::Tensor tensor = viva::data::parse_idx(std::as_bytes(std::span(data, size)), "fuzz.idx", kMostUnpacked);
    // No tensor may hold more than there was.
    const std::size_t held = tensor.bytes().size();
    if (held > kMostUnpacked && held > size) std::abort();
    // Every element is memory that can be read.
    unsigned sum = 0;
    for (const std::byte byte : tensor.bytes()) sum += std::to_integer<unsigned>(byte);
    volatile unsigned kept = sum;
    static_cast<void>(kept);
  } catch (const viva::Error&) {
    // Refusing is an answer; anything else ends the fuzzer.
  }
  return 0;
}
