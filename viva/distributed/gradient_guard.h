// The guard against gradients that are not finite: what it does about one, and how it finds one.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "viva/optim/grad_sink.h"
#include "viva/optim/layout.h"

namespace viva::distributed {

// What happens where an element of a batch's gradient, or of the sum over the workers, is infinite or NaN. kIgnore: it
// is not looked for. kError: NonFiniteGradient. kSkip: the step is not applied, training goes on with the next one; so
// with a loss that is not finite.
enum class NonFinite { kIgnore, kError, kSkip };

// "ignore", "error", "skip".
std::string_view name_of(NonFinite policy);

// A place in a flat buffer: element `index` of entry `entry`.
struct ElementPlace {
  std::size_t entry = 0;
  std::int64_t index = 0;
  auto operator<=>(const ElementPlace&) const = default;
};

// The first element of `range`, which lies within one entry and its padding, that is infinite or NaN.
std::optional<ElementPlace> first_non_finite(const optim::Layout& layout, const Tensor& buffer, std::size_t entry,
                                             optim::Range range);

// The first one of those `entries` that the sink was given.
std::optional<ElementPlace> first_non_finite(const optim::Layout& layout, const Tensor& buffer,
                                             std::span<const std::size_t> entries, const GradSink& sink);

}  // namespace viva::distributed
