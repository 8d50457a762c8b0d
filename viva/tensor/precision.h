// The precision of heavy products: matrix products and convolutions of float32 tensors.
#pragma once

#include <string_view>

namespace viva {

// kBf16: operands are rounded to bfloat16 (to nearest, ties to even) where they are multiplied; sums, results,
// parameters and everything else stay float32.
enum class Precision { kF32, kBf16 };

// "f32", "bf16".
std::string_view name_of(Precision precision);

// Whether this processor multiplies bfloat16 faster than float32 (AVX-512 BF16 or AMX). Elsewhere oneDNN computes the
// same products more slowly, where it can at all (bf16_possible).
bool bf16_available();
bool bf16_possible();

}  // namespace viva
