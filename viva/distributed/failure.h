// What can go wrong in a batch, caught where it happens.
#pragma once

#include <cmath>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "viva/distributed/gradient_guard.h"

namespace viva::distributed {

// The first cause within one worker or executor.
struct BatchFailure {
  std::int64_t worker = 0, batch = 0;
  std::string cause;
  // In the place of a cause: what the guard found, or an error to be thrown as it is.
  std::optional<ElementPlace> bad_element;
  std::exception_ptr error;
};

// Runs the user's code. What it throws comes back as text.
template <typename F>
std::optional<std::string> failure_of(F&& run) {
  try {
    std::forward<F>(run)();
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
  return std::nullopt;
}

// Why a loss cannot be trained on, as text.
inline std::optional<std::string> failure_of_loss(double loss) {
  if (std::isfinite(loss)) return std::nullopt;
  return fmt::format("the loss is {}; expected a finite number", loss);
}

}  // namespace viva::distributed
