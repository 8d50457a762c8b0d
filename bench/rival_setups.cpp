// The ways of running each rival.
#include <fmt/format.h>

#include "bench/rivals.h"

namespace viva::bench {
namespace {

struct Form {
  std::string name;
  int processes, threads;
  std::int64_t batches;  // of a viva worker, in one of a process
};

RivalSetup torch_setup(const Problem& problem, const Form& form, const std::vector<std::string>& features) {
  RivalSetup setup{.name = fmt::format("{}, batch {}", form.name, form.batches * problem.batch_size),
                   .workers = form.processes,
                   .cpus = form.processes * form.threads,
                   .batch_size = form.batches * problem.batch_size,
                   .needs = features,
                   .options = fmt::format(" --threads {}", form.threads)};
  for (const std::string& feature : features) {
    setup.name += ", " + feature;
    setup.options += " --" + feature;
  }
  return setup;
}

}  // namespace

std::vector<RivalSetup> torch_setups(const Problem& problem) {
  const std::vector<std::vector<std::string>> kFeatures = {
      {"fused"}, {"compile"}, {"fused", "compile"}, {"bf16"}, {"bf16", "fused", "compile"}};
  std::vector<RivalSetup> setups;
  // What viva's two workers do in a step.
  for (const Form& form : {Form{"DDP (Gloo), 2 processes", 2, 1, 1}, Form{"1 process, 2 threads", 1, 2, 2}}) {
    setups.push_back(torch_setup(problem, form, {}));
    for (const auto& features : kFeatures) setups.push_back(torch_setup(problem, form, features));
  }
  // On one CPU, or with another batch.
  for (const Form& form : {Form{"1 process, 2 threads", 1, 2, 1}, Form{"1 process, 1 thread", 1, 1, 1},
                           Form{"1 process, 1 thread", 1, 1, 2}}) {
    setups.push_back(torch_setup(problem, form, {}));
  }
  return setups;
}

std::vector<RivalSetup> jax_setups(const Problem& problem) {
  return {{.name = fmt::format("1 device on 2 CPUs, batch {}", 2 * problem.batch_size),
           .workers = 1,
           .cpus = 2,
           .batch_size = 2 * problem.batch_size},
          {.name = fmt::format("2 devices, batch {}", problem.batch_size),
           .workers = 2,
           .cpus = 2,
           .batch_size = problem.batch_size,
           .needs = {"shard_map"}}};
}

}  // namespace viva::bench
