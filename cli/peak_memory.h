// How much memory a run has taken.
#pragma once

#include <cstdint>

namespace viva::cli {

// The peak of this process's resident memory in MiB; with worker processes, which have ended, also `processes` times
// the largest peak of any of them. The pages that they share count in each.
double peak_mebibytes(std::int64_t processes);

}  // namespace viva::cli
