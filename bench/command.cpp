#include "bench/command.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "viva/base/error.h"

namespace viva::bench {
namespace {

constexpr int kSeconds = 600;
constexpr int kTimedOut = 124, kKilled = 128 + 9;  // exit codes of timeout(1)

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

nlohmann::json answer_of(const std::string& command) {
  const std::string limited = fmt::format("timeout --kill-after=10 {} {} 2>&1", kSeconds, command);
  FILE* pipe = popen(limited.c_str(), "r");
  if (pipe == nullptr) throw Error("bench: cannot start " + command);
  std::string output;
  std::array<char, 4096> part{};
  while (const std::size_t got = fread(part.data(), 1, part.size(), pipe)) output.append(part.data(), got);
  const int status = pclose(pipe);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (code == kTimedOut || code == kKilled) throw Error(fmt::format("{}: not done in {} s", command, kSeconds));
  nlohmann::json answer = nlohmann::json::parse(last_line(output), nullptr, false);
  if (code != 0 || !answer.is_object()) throw Error(fmt::format("{}\n{}", command, output));
  return answer;
}

}  // namespace viva::bench
