// The program's commands. Each prints its results on stdout as its last act and throws viva::Error.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace viva::cli {

enum class Executor { kThreads, kProcesses, kReference };

struct TrainCommand {
  std::string recipe;
  std::vector<std::string> overrides;
  std::optional<std::int64_t> threads, processes;
  std::optional<Executor> executor;
  std::optional<std::int64_t> steps;
  double step_timeout = 300;        // seconds
  std::int64_t min_processes = 0;   // 0: all
  std::vector<std::string> faults;  // to be injected
  std::string out;                  // empty: the parameters are not kept
  bool json = false;
  bool quiet = false;
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();  // the process
};

struct EvalCommand {
  std::string recipe;
  std::vector<std::string> overrides;
  std::string params;
  bool json = false;
};

struct ReplayCommand {
  std::string recipe;
  std::vector<std::string> overrides;
  std::string failed_batch;
};

struct PredictCommand {
  std::string recipe;
  std::vector<std::string> overrides;
  std::string params, inputs;
  bool probabilities = false;
  std::string out;  // an NPY file; empty: the results are printed
};

struct SampleCommand {
  std::string recipe;
  std::vector<std::string> overrides;
  std::string params;
  std::string prompt = "\n";
  std::int64_t length = 500;
  double temperature = 0.8;
  std::int64_t top = 0;
  std::uint64_t seed = 0;
};

void train(const TrainCommand& command);
void eval(const EvalCommand& command);
// Computes a batch that ended a training by ending its worker processes once more, in this process.
void replay(const ReplayCommand& command);
void predict(const PredictCommand& command);
void sample(const SampleCommand& command);
// Prints the digest of the parameters in a file.
void print_digest(const std::string& params);

}  // namespace viva::cli
