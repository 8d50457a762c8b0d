#include "viva/tensor/random.h"

namespace viva {
namespace {

// Constants of the Philox paper.
constexpr std::uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;

constexpr std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
constexpr std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{kMultiplier0} * counter[0];
    const std::uint64_t product1 = std::uint64_t{kMultiplier1} * counter[2];
    counter = {high(product1) ^ counter[1] ^ key[0], low(product1), high(product0) ^ counter[3] ^ key[1],
               low(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

std::uint64_t RandomStream::bits(std::uint64_t element) const {
  const auto block = philox4x32({low(element), high(element), index_, purpose_}, {low(seed_), high(seed_)});
  return std::uint64_t{block[1]} << 32 | block[0];
}

double RandomStream::uniform(std::uint64_t element) const {
  return static_cast<double>(bits(element) >> 11) * 0x1.0p-53;
}

std::uint64_t RandomStream::below(std::uint64_t element, std::uint64_t bound) const {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(Wide{bits(element)} * bound >> 64);
}

}  // namespace viva
