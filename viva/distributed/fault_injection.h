// Faults that are put into a training on purpose, to see that it bears them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "viva/distributed/compute_grads.h"

namespace viva::distributed {

// What happens to a worker's batch; without `worker` or `step`, to any worker's, in any step.
struct Fault {
  enum class Kind {
    kKill,       // the process that computes it gets SIGKILL, `seconds` after it has begun
    kHang,       // it never ends
    kThrow,      // its callback throws
    kNan,        // an element of its gradient is NaN
    kSlow,       // it takes `seconds` longer
    kRandomKill  // as kKill, with the given probability for each batch
  };
  Kind kind = Kind::kKill;
  std::optional<std::int64_t> worker, step;
  std::int64_t times = 1;  // of kill, hang, throw, nan: how often, the attempts of all processes counted together
  double seconds = 0;
  double probability = 0;
  std::uint64_t seed = 0;  // which batches it is: a pure function of it and the batch's number; each one once
};

// "kill:worker=1,step=7", also with times=3, and so hang, throw, nan; "kill:after=20ms"; "slow=200ms" or
// "slow=1.5s,worker=1"; "random-kill=0.01,seed=3". ConfigError for anything else.
Fault parse_fault(const std::string& text);

// `compute` with those faults. Make it before the Trainer: its counts are in shared memory, so that a process that
// takes over after a fault knows of it.
ComputeGrads with_faults(ComputeGrads compute, std::vector<Fault> faults, std::int64_t num_workers);

}  // namespace viva::distributed
