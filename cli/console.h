// What the program says: results on stdout, everything else on stderr.
#pragma once

#include <string>
#include <string_view>

namespace viva::cli {

// Writes all of a command's results and sees to it that they have arrived; IoError for a full disk or a reader that has
// gone.
void print_results(const std::string& text);

// One line on stderr, "viva: " in front; control characters in it, as from a damaged file, are shown as "?".
void print_message(std::string_view message);
// That line, without its end.
std::string message_line(std::string_view message);

}  // namespace viva::cli
