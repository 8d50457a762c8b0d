#pragma once

#include <fmt/format.h>

#include <string>

#include "viva/base/error.h"

namespace viva {

// InvalidShape "operation: message" unless `condition` holds. The message is made for an error only: the check itself
// allocates nothing.
template <typename... Values>
void require_shape(const char* operation, bool condition, fmt::format_string<const Values&...> message,
                   const Values&... values) {
  if (!condition) throw InvalidShape(operation + (": " + fmt::format(message, values...)));
}

}  // namespace viva
