// The viva program.
#include <chrono>
#include <csignal>

#include "cli/program.h"

int main(int argc, char** argv) {
  const auto started = std::chrono::steady_clock::now();
  // A reader of stdout that has gone becomes an error of the write, with a message and an exit code.
  std::signal(SIGPIPE, SIG_IGN);
  return viva::cli::run_program(argc, argv, started);
}
