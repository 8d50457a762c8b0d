#include "viva/distributed/gradient_guard.h"

#include <array>
#include <cmath>

#include "viva/tensor/magnitude.h"

namespace viva::distributed {
namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, 3> kPolicyNames{"ignore", "error", "skip"};

template <typename T>
std::optional<ElementPlace> first_of_type(const Tensor& buffer, const optim::LayoutEntry& place, std::size_t entry,
                                          optim::Range range) {
  const T* values = buffer.values<T>().data();
  if (all_finite(values + range.begin, static_cast<std::size_t>(range.size()))) return std::nullopt;
  std::int64_t i = range.begin;
  while (std::isfinite(values[i])) ++i;
  return ElementPlace{entry, i - place.offset};
}

}  // namespace

std::string_view name_of(NonFinite policy) { return kPolicyNames.at(static_cast<std::size_t>(policy)); }

std::optional<ElementPlace> first_non_finite(const optim::Layout& layout, const Tensor& buffer, std::size_t entry,
                                             optim::Range range) {
  const optim::LayoutEntry& place = layout.entries()[entry];
  return layout.dtype() == Dtype::kFloat64 ? first_of_type<double>(buffer, place, entry, range)
                                           : first_of_type<float>(buffer, place, entry, range);
}

std::optional<ElementPlace> first_non_finite(const optim::Layout& layout, const Tensor& buffer,
                                             std::span<const std::size_t> entries, const GradSink& sink) {
  for (const std::size_t entry : entries) {
    if (!sink.given(entry)) continue;
    const optim::LayoutEntry& place = layout.entries()[entry];
    if (const auto found = first_non_finite(layout, buffer, entry, {place.offset, place.end})) return found;
  }
  return std::nullopt;
}

}  // namespace viva::distributed
