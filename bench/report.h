// The lines that viva_bench prints.
#pragma once

#include <string>

#include "bench/measure.h"

namespace viva::bench {

// One line of min, median and max, with the CPUs' ping-pong of this very moment beside it. `digits` follow the point.
void report(const std::string& name, const Spread& spread, const std::string& unit, int digits = 1);

void report_header();

}  // namespace viva::bench
