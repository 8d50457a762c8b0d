// The program from its arguments to its exit code.
#pragma once

#include <chrono>

namespace viva::cli {

// `started` is when the process began. 0; 2 for wrong usage or configuration; 1 for what goes wrong at run time. An
// error is one line on stderr.
int run_program(int argc, const char* const* argv, std::chrono::steady_clock::time_point started);

}  // namespace viva::cli
