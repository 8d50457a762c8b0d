// Other programs that a benchmark runs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace viva::bench {

// The JSON object that a shell command prints as its last line. Error where it fails, prints something else, or is not
// done within ten minutes; then it is ended, and so is what it has started.
nlohmann::json answer_of(const std::string& command);

}  // namespace viva::bench
