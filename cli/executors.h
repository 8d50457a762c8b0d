// Who runs a training's workers, as the command line says it.
#pragma once

#include <cstdint>

#include "cli/commands.h"

namespace viva::cli {

struct Executors {
  Executor kind = Executor::kThreads;
  std::int64_t count = 1;
  std::int64_t min_processes = 0;  // 0: all
};

// ConfigError for options that do not fit together. Without a number: as many as there are CPUs and work for them.
Executors executors_of(const TrainCommand& command, std::int64_t workers);

}  // namespace viva::cli
