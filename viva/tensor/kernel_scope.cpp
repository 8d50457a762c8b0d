#include "viva/tensor/kernel_scope.h"

#include "viva/tensor/float_control.h"
#include "viva/tensor/openmp_threads.h"

namespace viva {

KernelScope::KernelScope()
    : host_float_control_(float_control::current()), host_openmp_threads_(openmp_threads::current()) {
  if (host_float_control_ != float_control::kPinned) float_control::set(float_control::kPinned);
  if (host_openmp_threads_ != 1) openmp_threads::set(1);
}

KernelScope::~KernelScope() {
  if (host_openmp_threads_ != 1) openmp_threads::set(host_openmp_threads_);
  // Restored always: it also takes away the exception flags that our kernels raised.
  float_control::set(host_float_control_);
}

}  // namespace viva
