// The program from its arguments to its exit code.
#pragma once

namespace viva::cli {

// 0; 2 for wrong usage or configuration; 1 for what goes wrong at run time. An error is one line on stderr.
int run_program(int argc, const char* const* argv);

}  // namespace viva::cli
