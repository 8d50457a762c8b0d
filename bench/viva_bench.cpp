// viva_bench: the machine's limits, viva's speed as a share of them, and viva beside its rivals, measured in one run.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <string>
#include <vector>

#include "bench/machine.h"
#include "bench/measure.h"
#include "bench/reduce_apply.h"
#include "bench/report.h"
#include "bench/rivals.h"
#include "bench/training.h"
#include "viva/base/error.h"

namespace viva::bench {
namespace {

constexpr std::int64_t kManyParameters = 10'000'000;

struct Options {
  int pairs = 5;
  std::vector<std::string> only = {"machine", "reduce_apply", "training", "processes", "rivals"};
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

// Workers in processes beside threads, and what the death of one costs.
void processes(const Options& options, Training& training) {
  using distributed::ExecutorKind;
  const std::string& name = training.problem().name;
  if (allowed_cpus().size() < 2) {
    fmt::print("skipped: {} in processes: there is only one CPU\n", name);
    return;
  }
  const Pairs pairs = alternate(
      options.pairs, [&] { return training.measure(2, ExecutorKind::kProcesses); },
      [&] { return training.measure(2, ExecutorKind::kThreads); });
  report(fmt::format("viva: {}, 2 processes", name), pairs.a, "samples/s", 0);
  report("  share of the speed of 2 threads", percent(pairs.ratio), "%");
  std::vector<double> costs;
  for (int i = 0; i < options.pairs; ++i) std::ranges::copy(training.measure_recovery(), std::back_inserter(costs));
  report(fmt::format("  a worker's SIGKILL, {} of them: recovery", costs.size()), spread_of(costs), "ms");
}

// What a rival's way of running is called.
std::string name_of(const RivalSetup& setup) {
  const std::string how = setup.processes > 1
                              ? fmt::format("DDP (Gloo), {} processes of {} thread", setup.processes, setup.threads)
                              : fmt::format("one process, {} thread{}", setup.threads, setup.threads == 1 ? "" : "s");
  return fmt::format("{}{}{}, batch {}", how, setup.fused ? ", fused" : "", setup.compiled ? ", compiled" : "",
                     setup.batch_size);
}

void rivals(const Options& options, const Torch& torch, Training& training) {
  for (const RivalSetup& setup : torch.setups(training.problem())) {
    const int cpus = setup.processes * setup.threads;
    if (static_cast<std::size_t>(cpus) > allowed_cpus().size()) {
      fmt::print("skipped: {}: there is only one CPU\n", name_of(setup));
      continue;
    }
    const Pairs pairs = alternate(
        options.pairs, [&] { return training.measure(cpus); }, [&] { return torch.measure(setup); });
    report(fmt::format("PyTorch, {}", name_of(setup)), pairs.b, "samples/s", 0);
    report(on_threads("  viva over it", cpus), pairs.ratio, "x", 2);
  }
}

void describe(const Torch& torch) {
  if (!torch.available()) {
    fmt::print("skipped: rivals: {}\n", torch.reason());
    return;
  }
  fmt::print("rival: {}\n", torch.description());
  for (const std::string& skipped : torch.skipped()) fmt::print("skipped: {}\n", skipped);
  if (torch.slow_blas()) {
    fmt::print("warning: PyTorch runs on the reference BLAS, which is slow; ./dev setup rivals installs OpenBLAS\n");
  }
}

void warn_if_busy() {
  double load = 0;
  if (getloadavg(&load, 1) == 1 && load > 0.5) {
    fmt::print("warning: other programs are running (load {:.1f}): the figures are theirs too\n", load);
  }
}

void run_all(const Options& options) {
  warn_if_busy();
  report_header();
  if (options.wants("machine")) machine(options);
  if (options.wants("reduce_apply")) reduce_apply(options);
  if (!options.wants("training") && !options.wants("processes") && !options.wants("rivals")) return;
  const Torch torch;
  if (options.wants("rivals")) describe(torch);
  for (const std::string& name : options.models) {
    Training training(make_problem(name));
    if (options.wants("training")) training_speed(options, training);
    if (options.wants("processes")) processes(options, training);
    if (options.wants("rivals") && torch.available()) rivals(options, torch, training);
  }
}

}  // namespace
}  // namespace viva::bench

int main(int argc, char** argv) {
  viva::bench::Options options;
  CLI::App app("Measures this machine, viva and its rivals in alternating pairs; every benchmark checks its answer.");
  app.add_option("--pairs", options.pairs, "alternating pairs for each ratio")->check(CLI::Range(1, 1000));
  app.add_option("--only", options.only, "parts to run: machine, reduce_apply, training, processes, rivals")
      ->check(CLI::IsMember({"machine", "reduce_apply", "training", "processes", "rivals"}));
  app.add_option("--models", options.models, "models to train: mlp, cnn, gpt")
      ->check(CLI::IsMember({"mlp", "cnn", "gpt"}));
  CLI11_PARSE(app, argc, argv);
  try {
    viva::bench::run_all(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
