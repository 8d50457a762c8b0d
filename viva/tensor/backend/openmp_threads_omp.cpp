// For a oneDNN that was built with OpenMP: its own runtime, whatever OpenMP this compiler would bring.
#include "viva/tensor/openmp_threads.h"

extern "C" {
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
}

namespace viva::openmp_threads {

int current() { return omp_get_max_threads(); }
void set(int threads) { omp_set_num_threads(threads); }

}  // namespace viva::openmp_threads
