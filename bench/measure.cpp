#include "bench/measure.h"

#include <pthread.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <thread>

#include "viva/base/error.h"

namespace viva::bench {
namespace {

void pin_to(const cpu_set_t& cpus) {
  if (pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus) != 0) throw Error("bench: cannot pin a thread");
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {values.front(), median, values.back()};
}

const std::vector<int>& allowed_cpus() {
  static const std::vector<int> kCpus = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0) throw Error("bench: cannot read the process's CPUs");
    std::vector<int> cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
    return cpus;
  }();
  return kCpus;
}

OnCpus::OnCpus(int count) {
  const std::vector<int>& cpus = allowed_cpus();
  pthread_getaffinity_np(pthread_self(), sizeof(before_), &before_);
  cpu_set_t set;
  CPU_ZERO(&set);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count) && i < cpus.size(); ++i) CPU_SET(cpus[i], &set);
  pin_to(set);
}

OnCpus::~OnCpus() { pthread_setaffinity_np(pthread_self(), sizeof(before_), &before_); }

double seconds_together(int threads, const std::function<void(int thread)>& body) {
  const auto count = static_cast<std::size_t>(threads);
  if (count > allowed_cpus().size()) throw Error("bench: more threads than CPUs");
  std::barrier start(threads);
  std::vector<Clock::time_point> begin(count), end(count);
  {
    std::vector<std::jthread> running;
    for (std::size_t t = 0; t < count; ++t) {
      running.emplace_back([&, t] {
        cpu_set_t own;
        CPU_ZERO(&own);
        CPU_SET(allowed_cpus()[t], &own);
        pin_to(own);
        start.arrive_and_wait();
        begin[t] = Clock::now();
        body(static_cast<int>(t));
        end[t] = Clock::now();
      });
    }
  }
  const auto whole = *std::max_element(end.begin(), end.end()) - *std::min_element(begin.begin(), begin.end());
  return std::chrono::duration<double>(whole).count();
}

Pairs alternate(int pairs, const Measurement& a, const Measurement& b) {
  std::vector<double> of_a, of_b, ratios;
  for (int i = 0; i < pairs; ++i) {
    of_a.push_back(a());
    of_b.push_back(b());
    ratios.push_back(of_a.back() / of_b.back());
  }
  return {spread_of(of_a), spread_of(of_b), spread_of(ratios)};
}

}  // namespace viva::bench
