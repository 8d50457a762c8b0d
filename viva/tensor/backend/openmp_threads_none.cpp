// For a oneDNN that was built without OpenMP: there is nothing to pin.
#include "viva/tensor/openmp_threads.h"

namespace viva::openmp_threads {

int current() { return 1; }
void set(int) {}

}  // namespace viva::openmp_threads
