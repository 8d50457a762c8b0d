#include "viva/data/scale_elements.h"

#include <cstddef>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "viva/data/scale_elements.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, as Highway demands.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace viva::data::HWY_NAMESPACE {

// Plain loops, which the compiler makes vectors of for each instruction set: IEEE subtraction, multiplication and
// conversion have the same result in a vector's lane and alone.
template <typename In, typename Out>
HWY_ATTR void scale(const std::byte* HWY_RESTRICT in, std::byte* HWY_RESTRICT out, std::size_t count,
                    const Scaling& scaling) {
  const auto* from = reinterpret_cast<const In*>(in);
  auto* to = reinterpret_cast<Out*>(out);
  const double scale = scaling.scale, shift = scaling.shift;
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<Out>((static_cast<double>(from[i]) - shift) * scale);
}

void scale_any(Dtype in_dtype, std::span<const std::byte> in, Dtype out_dtype, std::span<std::byte> out,
               const Scaling& scaling) {
  visit_dtype(in_dtype, [&](auto from) {
    visit_floating(out_dtype, "scale_elements", [&](auto to) {
      scale<decltype(from), decltype(to)>(in.data(), out.data(), out.size() / sizeof(to), scaling);
    });
  });
}

}  // namespace viva::data::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace viva::data {

HWY_EXPORT(scale_any);

void scale_elements(Dtype in_dtype, std::span<const std::byte> in, Dtype out_dtype, std::span<std::byte> out,
                    const Scaling& scaling) {
  HWY_DYNAMIC_DISPATCH(scale_any)(in_dtype, in, out_dtype, out, scaling);
}

}  // namespace viva::data
#endif
