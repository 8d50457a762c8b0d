// Where in the training a callback stands.
#pragma once

#include <cstdint>

#include "viva/tensor/arena.h"

namespace viva {

enum class Mode { kTraining, kEvaluation };

struct StepContext {
  std::uint64_t seed = 0;
  std::int64_t step = 0;    // from 0
  std::int64_t worker = 0;  // the logical worker, 0 … num_workers - 1
  std::int64_t batch = 0;   // the batch's number in the endless stream of epochs
  Mode mode = Mode::kTraining;
  Arena& arena;  // this executor's scratch memory, reset before every batch
};

}  // namespace viva
