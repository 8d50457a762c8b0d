#include "viva/tensor/precision.h"

#include <dnnl.hpp>

namespace viva {
namespace {

bool at_least(dnnl::cpu_isa isa) {
  const auto has = static_cast<unsigned>(dnnl::get_effective_cpu_isa()), wanted = static_cast<unsigned>(isa);
  // An instruction set's number has the bits of those that it includes.
  return (has & wanted) == wanted;
}

}  // namespace

std::string_view name_of(Precision precision) { return precision == Precision::kBf16 ? "bf16" : "f32"; }

bool bf16_available() { return at_least(dnnl::cpu_isa::avx512_core_bf16); }

bool bf16_possible() { return at_least(dnnl::cpu_isa::avx512_core); }

}  // namespace viva
