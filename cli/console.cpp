#include "cli/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "viva/base/error.h"

namespace viva::cli {

void print_results(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return;
  const int error = errno;
  throw IoError("standard output", -1, "cannot write the results: " + std::generic_category().message(error));
}

std::string message_line(std::string_view message) {
  std::string line = fmt::format("viva: {}", message);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, '?');
  return line;
}

void print_message(std::string_view message) { std::fputs((message_line(message) + '\n').c_str(), stderr); }

}  // namespace viva::cli
