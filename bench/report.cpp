#include "bench/report.h"

#include <fmt/format.h>

#include <cstdio>

#include "bench/machine.h"

namespace viva::bench {

void report_header() {
  fmt::print("{:58}{:>11}{:>11}{:>11}  {:12}{:>12}\n", "", "min", "median", "max", "", "ping-pong");
}

void report(const std::string& name, const Spread& spread, const std::string& unit, int digits) {
  const double nanoseconds = ping_pong_ns();
  const std::string distance = nanoseconds > 0 ? fmt::format("{:.0f} ns", nanoseconds) : "one CPU";
  fmt::print("{:58}{:11.{}f}{:11.{}f}{:11.{}f}  {:12}{:>12}\n", name, spread.min, digits, spread.median, digits,
             spread.max, digits, unit, distance);
  std::fflush(stdout);
}

}  // namespace viva::bench
