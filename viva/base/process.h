// How processes end, and whether this one may fork.
#pragma once

#include <string>

namespace viva {

// By `exit_code`, or by `signal` where that is not 0.
struct ProcessEnd {
  int exit_code = 0;
  int signal = 0;
  bool operator==(const ProcessEnd&) const = default;
};

// From the status that waitpid() gave.
ProcessEnd end_of_status(int status);

// "exit code 3", "signal 11 (SIGSEGV)".
std::string to_string(const ProcessEnd& end);

// The threads of this process, from /proc/self/task; 0 where that cannot be read.
int count_threads();

// Whether this thread is the only one. A thread that has been joined may be counted for some microseconds more: this
// waits up to a tenth of a second for the others to go.
bool is_single_threaded();

}  // namespace viva
