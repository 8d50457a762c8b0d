#include "cli/executors.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "viva/base/cpu.h"
#include "viva/base/error.h"

namespace viva::cli {
namespace {

void check_count(const char* option, std::optional<std::int64_t> count) {
  constexpr std::int64_t kMost = 1024;
  if (count && (*count < 1 || *count > kMost)) {
    throw ConfigError({}, 0, option, fmt::format("expected a number from 1 to {}, found {}", kMost, *count));
  }
}

}  // namespace

Executors executors_of(const TrainCommand& command, std::int64_t workers) {
  check_count("--threads", command.threads);
  check_count("--processes", command.processes);
  if (command.threads && command.processes) {
    throw ConfigError({}, 0, "--processes", "given beside --threads; expected one of them");
  }
  const Executor kind = command.executor.value_or(command.processes ? Executor::kProcesses : Executor::kThreads);
  const auto refuse = [](const char* option, const char* message) { throw ConfigError({}, 0, option, message); };
  if (kind == Executor::kReference) {
    if (command.threads) refuse("--threads", "the reference executor has one thread; leave --threads out");
    if (command.processes) refuse("--processes", "the reference executor is this process; leave --processes out");
    return {kind, 1};
  }
  if (kind == Executor::kProcesses && command.threads) {
    refuse("--threads", "the executors are processes; give their number as --processes");
  }
  if (kind == Executor::kThreads && command.processes) {
    refuse("--processes", "the executors are threads; give their number as --threads");
  }
  const std::optional<std::int64_t> given = command.threads ? command.threads : command.processes;
  return {kind, given.value_or(std::min<std::int64_t>(available_cpus(), workers))};
}

}  // namespace viva::cli
