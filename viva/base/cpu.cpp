#include "viva/base/cpu.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <thread>

namespace viva {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

int quota_to_cpus(double quota, double period) {
  if (!(quota > 0) || !(period > 0)) return 0;
  return std::max(1, static_cast<int>(std::min(std::ceil(quota / period), 1e6)));
}

// This process's path below the cgroup mount for `controller` ("" is the unified hierarchy).
std::string cgroup_path(const std::string& controller) {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::istringstream controllers(line.substr(first + 1, second - first - 1));
    if (controller.empty() && second == first + 1) return line.substr(second + 1);
    for (std::string name; std::getline(controllers, name, ',');) {
      if (!controller.empty() && name == controller) return line.substr(second + 1);
    }
  }
  return "/";
}

// A quota may stand on any level above the process: the smallest counts.
template <typename Read>
int smallest_quota(const std::string& mount, std::string path, Read read) {
  int smallest = 0;
  for (;;) {
    const int cpus = read(mount + path);
    if (cpus > 0 && (smallest == 0 || cpus < smallest)) smallest = cpus;
    const auto slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) return smallest;
    path.resize(slash);
  }
}

int quota_cpus() {
  const int v2 = smallest_quota("/sys/fs/cgroup", cgroup_path(""), [](const std::string& directory) {
    return cpus_of_cpu_max(first_line(directory + "/cpu.max"));
  });
  if (v2 > 0) return v2;
  return smallest_quota("/sys/fs/cgroup/cpu", cgroup_path("cpu"), [](const std::string& directory) {
    return cpus_of_cpu_max(first_line(directory + "/cpu.cfs_quota_us") + " " +
                           first_line(directory + "/cpu.cfs_period_us"));
  });
}

int affinity_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  // More processors than cpu_set_t holds: the kernel refuses the small mask.
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

int cpus_of_cpu_max(const std::string& cpu_max) {
  std::istringstream text(cpu_max);
  double quota = 0, period = 0;
  if (!(text >> quota >> period)) return 0;
  return quota_to_cpus(quota, period);
}

int available_cpus() {
  const int affinity = std::max(1, affinity_cpus());
  const int quota = quota_cpus();
  return quota > 0 ? std::min(affinity, quota) : affinity;
}

}  // namespace viva
