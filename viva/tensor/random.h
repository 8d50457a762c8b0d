// Counter-based random numbers: a number is a pure function of its key and its place, never of what was drawn before.
//
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011), Philox4x32-10.
#pragma once

#include <array>
#include <cstdint>

namespace viva {

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

// What a stream of numbers is for. The values are part of what decides bits: never renumber.
enum class RandomPurpose : std::uint32_t {
  kShuffle = 1,
  kInitialize = 2,
  kDropout = 3,
  kSplit = 4,
  kAugment = 5,
  kSample = 6,
  kFault = 7
};

// The stream of (seed, purpose, index): `index` is the epoch of a shuffle, the number of an initialised parameter, ….
// Pure and thread-safe.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, RandomPurpose purpose, std::uint32_t index)
      : seed_(seed), purpose_(static_cast<std::uint32_t>(purpose)), index_(index) {}

  // 64 random bits for `element`.
  std::uint64_t bits(std::uint64_t element) const;
  // Uniform in [0, 1), a multiple of 2^-53.
  double uniform(std::uint64_t element) const;
  // Uniform in 0 … bound - 1 (bound > 0) by multiplication of 64 random bits; the bias is below bound / 2^64.
  std::uint64_t below(std::uint64_t element, std::uint64_t bound) const;

 private:
  std::uint64_t seed_;
  std::uint32_t purpose_, index_;
};

}  // namespace viva
