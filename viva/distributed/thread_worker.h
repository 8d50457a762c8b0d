// Workers of worker.h on threads of this process.
#pragma once

#include <cstdint>

#include "viva/distributed/worker.h"

namespace viva::distributed {

Workers spawn_thread_workers(std::int64_t n, const WorkerLoop& loop);

}  // namespace viva::distributed
