// How everything here is timed: pinned threads that start together, and alternating pairs.
#pragma once

#include <sched.h>

#include <chrono>
#include <functional>
#include <vector>

namespace viva::bench {

using Clock = std::chrono::steady_clock;

struct Spread {
  double min = 0, median = 0, max = 0;
};
// Of at least one value.
Spread spread_of(std::vector<double> values);

// The CPUs that this process may use.
const std::vector<int>& allowed_cpus();

// While it lives, the calling thread, and every thread or process that it starts, runs on the first `count` allowed
// CPUs. viva and its rivals are pinned by this alone, so that none has an advantage.
class OnCpus {
 public:
  explicit OnCpus(int count);
  ~OnCpus();
  OnCpus(const OnCpus&) = delete;
  OnCpus& operator=(const OnCpus&) = delete;

 private:
  cpu_set_t before_;
};

// Runs body(0) … body(threads - 1) on threads that begin together, each on a CPU of its own; the seconds from the first
// beginning to the last end.
double seconds_together(int threads, const std::function<void(int thread)>& body);

using Measurement = std::function<double()>;

// What alternating runs a, b, a, b, … gave, and the ratio a / b of each pair: the machine's slow changes cancel out.
struct Pairs {
  Spread a, b, ratio;
};
Pairs alternate(int pairs, const Measurement& a, const Measurement& b);

}  // namespace viva::bench
