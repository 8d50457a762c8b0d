// The program's commands. Each prints its results on stdout as its last act and throws viva::Error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace viva::cli {

enum class Executor { kThreads, kReference };

struct TrainCommand {
  std::string recipe;
  std::vector<std::string> overrides;
  std::optional<std::int64_t> threads;
  Executor executor = Executor::kThreads;
  std::optional<std::int64_t> steps;
  std::string out;  // empty: the parameters are not kept
  bool json = false;
  bool quiet = false;
};

struct EvalCommand {
  std::string recipe;
  std::vector<std::string> overrides;
  std::string params;
  bool json = false;
};

void train(const TrainCommand& command);
void eval(const EvalCommand& command);
// Prints the digest of the parameters in a file.
void print_digest(const std::string& params);

}  // namespace viva::cli
