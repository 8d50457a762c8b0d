#include "viva/tensor/precision.h"

#include "viva/tensor/dnnl_execution.h"

namespace viva {

std::string_view name_of(Precision precision) { return precision == Precision::kBf16 ? "bf16" : "f32"; }

bool bf16_available() { return dnnl_has(dnnl::cpu_isa::avx512_core_bf16); }

bool bf16_possible() { return dnnl_has_avx512(); }

}  // namespace viva
