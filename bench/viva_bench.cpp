// viva_bench: the machine's limits, viva's speed as a share of them, and viva beside its rivals, measured in one run.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "bench/machine.h"
#include "bench/measure.h"
#include "bench/program.h"
#include "bench/reduce_apply.h"
#include "bench/report.h"
#include "bench/rivals.h"
#include "bench/training.h"
#include "viva/base/error.h"

namespace viva::bench {
namespace {

constexpr std::int64_t kManyParameters = 10'000'000;
const std::vector<std::string> kParts = {"machine",  "reduce_apply", "training", "executors",
                                         "recovery", "program",      "rivals"};

struct Options {
  int pairs = 5;
  std::vector<std::string> only = kParts;
  std::vector<std::string> models = {"mlp", "cnn", "gpt"};

  bool wants(const std::string& part) const { return std::find(only.begin(), only.end(), part) != only.end(); }
};

// 1, and 2 where there are two CPUs.
std::vector<int> thread_counts() { return allowed_cpus().size() < 2 ? std::vector<int>{1} : std::vector<int>{1, 2}; }

std::string on_threads(const std::string& what, int threads) {
  return fmt::format("{}, {} thread{}", what, threads, threads == 1 ? "" : "s");
}

Spread percent(const Spread& ratio) { return {100 * ratio.min, 100 * ratio.median, 100 * ratio.max}; }

void machine(const Options& options) {
  for (const int threads : thread_counts()) {
    std::vector<double> peaks;
    for (int i = 0; i < options.pairs; ++i) peaks.push_back(fma_peak(threads));
    report(on_threads("machine: FMA peak, float32", threads), spread_of(peaks), "GFLOP/s");
  }
}

void reduce_apply(const Options& options) {
  const Bandwidth bandwidth(kManyParameters, 10);
  ReduceApplyPass update(kManyParameters, 10);
  for (const int threads : thread_counts()) {
    const Pairs pairs = alternate(
        options.pairs, [&] { return update.measure(threads); }, [&] { return bandwidth.measure(threads); });
    report(on_threads("machine: x += a·y in place, 10 M floats", threads), pairs.b, "GB/s");
    report(on_threads("viva: reduce and apply, 10 M parameters", threads), pairs.a, "GB/s");
    report("  share of the bandwidth", percent(pairs.ratio), "%");
  }
}

void training_speed(const Options& options, Training& training) {
  const Problem& problem = training.problem();
  for (const int threads : thread_counts()) {
    const Pairs pairs = alternate(
        options.pairs, [&] { return training.measure(threads); }, [&] { return fma_peak(threads); });
    const double gflop = problem.flops_per_sample / 1e9;
    const Spread share{pairs.ratio.min * gflop, pairs.ratio.median * gflop, pairs.ratio.max * gflop};
    report(on_threads(fmt::format("viva: {}, {} workers of {}", problem.name, kWorkers, problem.batch_size), threads),
           pairs.a, "samples/s", 0);
    report(fmt::format("  share of the FMA peak, {:.3f} MFLOP a sample", problem.flops_per_sample / 1e6),
           percent(share), "%");
  }
  if (thread_counts().size() < 2) return;
  const Pairs scaling = alternate(
      options.pairs, [&] { return training.measure(2); }, [&] { return training.measure(1); });
  report("  2 threads over 1 thread", scaling.ratio, "x", 2);
}

// Workers in processes beside workers in threads.
void executors(const Options& options, Training& training) {
  using distributed::ExecutorKind;
  const Pairs pairs = alternate(
      options.pairs, [&] { return training.measure(2, ExecutorKind::kProcesses); },
      [&] { return training.measure(2, ExecutorKind::kThreads); });
  report(fmt::format("viva: {}, 2 processes", training.problem().name), pairs.a, "samples/s", 0);
  report("  share of the speed of 2 threads", percent(pairs.ratio), "%");
}

void recovery(const Options& options, Training& training) {
  std::vector<double> extra, without_lost;
  for (int i = 0; i < options.pairs; ++i) {
    for (const Recovery& one : training.measure_recovery()) {
      extra.push_back(one.extra);
      without_lost.push_back(one.extra - one.lost);
    }
  }
  report(fmt::format("viva: {}, a worker's SIGKILL, {} of them: recovery", training.problem().name, extra.size()),
         spread_of(without_lost), "ms");
  report("  and what was lost computed again", spread_of(extra), "ms");
}

void report_cost(const std::vector<double>& first_steps, const std::vector<double>& peaks) {
  report("  time to the first step", spread_of(first_steps), "s", 2);
  report("  peak memory", spread_of(peaks), "MiB", 0);
}

void program(const Options& options, const std::string& model) {
  const auto measure = [&](const std::string& name, const std::string& arguments) {
    std::vector<double> first_steps, peaks;
    for (int i = 0; i < options.pairs; ++i) {
      const ProgramRun run = run_program(model, arguments);
      first_steps.push_back(run.seconds_to_first_step);
      peaks.push_back(run.peak_mebibytes);
    }
    fmt::print("viva train, {}, {}\n", model, name);
    report_cost(first_steps, peaks);
  };
  measure("2 threads", "--threads 2");
  measure("2 processes", "--processes 2");
  if (model == "gpt") return;
  const PlainImages images;
  measure("2 threads, data not compressed", "--threads 2 " + images.options());
}

// False where a run of the rival failed.
bool rivals(const Options& options, const Rival& rival, Training& training) {
  const Problem& problem = training.problem();
  bool right = true;
  for (const RivalSetup& setup : rival.setups(problem)) {
    if (static_cast<std::size_t>(setup.cpus) > allowed_cpus().size()) {
      fmt::print("skipped: {}: there is only one CPU\n", setup.name);
      continue;
    }
    std::vector<double> first_steps, peaks;
    try {
      const Pairs pairs = alternate(
          options.pairs, [&] { return training.measure(setup.cpus); },
          [&] {
            const RivalRun run = rival.run(problem, setup);
            first_steps.push_back(run.seconds_to_first_step);
            peaks.push_back(run.peak_mebibytes);
            return run.samples_per_second;
          });
      fmt::print("{}, {}, {}\n", rival.name(), problem.name, setup.name);
      report("  its speed", pairs.b, "samples/s", 0);
      report(on_threads("  viva over it", setup.cpus), pairs.ratio, "x", 2);
      report_cost(first_steps, peaks);
    } catch (const RivalFailed& error) {
      right = false;
      fmt::print("failed: {}, {}, {}: {}\n", rival.name(), problem.name, setup.name, error.what());
    }
  }
  return right;
}

void describe(const Rival& rival) {
  if (!rival.reason().empty()) {
    fmt::print("skipped: {}: {}\n", rival.name(), rival.reason());
    return;
  }
  fmt::print("rival: {}, {}\n", rival.name(), rival.details());
  for (const auto& [what, why] : rival.lacks()) fmt::print("skipped: {}, {}: {}\n", rival.name(), what, why);
  if (!rival.warning().empty()) fmt::print("warning: {}: {}\n", rival.name(), rival.warning());
}

std::vector<Rival> rivals_that_run() {
  std::vector<Rival> rivals = all_rivals();
  for (const Rival& rival : rivals) describe(rival);
  std::erase_if(rivals, [](const Rival& rival) { return !rival.reason().empty(); });
  return rivals;
}

void warn_if_busy() {
  double load = 0;
  if (getloadavg(&load, 1) == 1 && load > 0.5) {
    fmt::print("warning: other programs are running (load {:.1f}): the figures are theirs too\n", load);
  }
}

// False where a rival failed.
bool run_all(const Options& options) {
  warn_if_busy();
  report_header();
  if (options.wants("machine")) machine(options);
  if (options.wants("reduce_apply")) reduce_apply(options);
  const std::vector<Rival> others = options.wants("rivals") ? rivals_that_run() : std::vector<Rival>{};
  const auto wants_on_two = [&](const char* part) {
    if (!options.wants(part) || allowed_cpus().size() > 1) return options.wants(part);
    fmt::print("skipped: {}: there is only one CPU\n", part);
    return false;
  };
  bool right = true;
  for (const std::string& name : options.models) {
    Training training(make_problem(name));
    if (options.wants("training")) training_speed(options, training);
    if (wants_on_two("executors")) executors(options, training);
    if (wants_on_two("recovery")) recovery(options, training);
    if (wants_on_two("program")) program(options, name);
    for (const Rival& rival : others) right = rivals(options, rival, training) && right;
  }
  return right;
}

}  // namespace
}  // namespace viva::bench

int main(int argc, char** argv) {
  viva::bench::Options options;
  CLI::App app("Measures this machine, viva and its rivals in alternating pairs; every benchmark checks its answer.");
  app.add_option("--pairs", options.pairs, "alternating pairs for each ratio")->check(CLI::Range(1, 1000));
  app.add_option("--only", options.only, "parts to run (default: all)")->check(CLI::IsMember(viva::bench::kParts));
  app.add_option("--models", options.models, "models to train: mlp, cnn, gpt")
      ->check(CLI::IsMember({"mlp", "cnn", "gpt"}));
  CLI11_PARSE(app, argc, argv);
  try {
    if (!viva::bench::run_all(options)) return 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
