// The number of OpenMP threads that oneDNN's kernels would start from this thread.
#pragma once

namespace viva::openmp_threads {

int current();
void set(int threads);

}  // namespace viva::openmp_threads
