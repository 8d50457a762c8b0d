// Workers of worker.h in processes of their own, forked by a zygote (see zygote.h).
#pragma once

#include <cstdint>

#include "viva/distributed/worker.h"

namespace viva::distributed {

Workers spawn_process_workers(std::int64_t n, WorkerLoop loop);

}  // namespace viva::distributed
