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
    return {kind, 1, 0};
  }
  if (kind == Executor::kProcesses && command.threads) {
    refuse("--threads", "the executors are processes; give their number as --processes");
  }
  if (kind == Executor::kThreads && command.processes) {
    refuse("--processes", "the executors are threads; give their number as --threads");
  }
  if (command.min_processes != 0 && kind != Executor::kProcesses) {
    refuse("--min-processes", "the executors are threads, which are never lost; add --processes");
  }
  const std::optional<std::int64_t> given = command.threads ? command.threads : command.processes;
  const std::int64_t count = given.value_or(std::min<std::int64_t>(available_cpus(), workers));
  if (command.min_processes < 0 || command.min_processes > count) {
    throw ConfigError(
        {}, 0, "--min-processes",
        fmt::format("expected a number from 0 to {}, the number of processes, found {}", count, command.min_processes));
  }
  return {kind, count, command.min_processes};
}

}  // namespace viva::cli
