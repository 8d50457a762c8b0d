#include "cli/peak_memory.h"

#include <sys/resource.h>

namespace viva::cli {
namespace {

double peak_of(__rusage_who who) {
  rusage usage{};
  ::getrusage(who, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace

double peak_mebibytes(std::int64_t processes) {
  return peak_of(RUSAGE_SELF) + static_cast<double>(processes) * peak_of(RUSAGE_CHILDREN);
}

}  // namespace viva::cli
