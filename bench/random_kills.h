// Ends worker processes by SIGKILL at random moments of chosen steps.
#pragma once

#include <cstdint>
#include <vector>

#include "viva/distributed/compute_grads.h"

namespace viva::bench {

// The process that computes the worker's batch in the step dies so many seconds after it has begun with it.
struct Kill {
  std::int64_t step = 0, worker = 0;
  double seconds = 0;
};

// `compute`, each of these kills striking once, whichever process it is that comes first. Make it before the Trainer.
distributed::ComputeGrads with_kills(distributed::ComputeGrads compute, std::vector<Kill> kills);

}  // namespace viva::bench
