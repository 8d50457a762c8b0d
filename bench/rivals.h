// Rivals: other trainers on the same model, data and CPUs, run as programs of their own (bench/rivals/).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/training.h"
#include "viva/base/error.h"

namespace viva::bench {

// A rival failed, took too long or gave a wrong answer.
class RivalFailed : public Error {
 public:
  using Error::Error;
};

// A way of running a rival.
struct RivalSetup {
  std::string name;
  int workers = 1;  // processes or devices
  int cpus = 1;
  std::int64_t batch_size = 64;         // of a worker
  std::vector<std::string> needs = {};  // that not every version has
  std::string options = {};             // for its script
};

// How a run went.
struct RivalRun {
  double samples_per_second = 0;
  double seconds_to_first_step = 0;  // from the start of its program
  double peak_mebibytes = 0;         // of resident memory, over its workers
};

// A script of bench/rivals/ with the Python that runs it.
class Rival {
 public:
  using Setups = std::vector<RivalSetup> (*)(const Problem&);

  // Asks the installed version what it is and can.
  Rival(const std::string& python, const std::string& script, Setups ways);

  // Why it cannot run; empty where it can.
  const std::string& reason() const { return reason_; }
  const std::string& name() const { return name_; }
  // For people: the linear algebra it uses.
  const std::string& details() const { return details_; }
  // What makes a comparison unfair, or nothing.
  const std::string& warning() const { return warning_; }
  // What this version or this machine lacks, and why.
  const std::map<std::string, std::string>& lacks() const { return lacks_; }

  // Every way of running that this version has.
  std::vector<RivalSetup> setups(const Problem& problem) const;

  // On as many CPUs as the setup has. RivalFailed also where it did not learn, trained another number of
  // parameters, or where its workers' parameters differ.
  RivalRun run(const Problem& problem, const RivalSetup& setup) const;

 private:
  std::string command_;
  Setups setups_;
  std::string reason_, name_, details_, warning_;
  std::map<std::string, std::string> lacks_;
};

// PyTorch: DistributedDataParallel over Gloo, or one process.
std::vector<RivalSetup> torch_setups(const Problem& problem);
// JAX: one device on all CPUs, or a device for each.
std::vector<RivalSetup> jax_setups(const Problem& problem);

// Debian's PyTorch, and the newest PyTorch and JAX of `./dev setup rivals`; also those that cannot run.
std::vector<Rival> all_rivals();

}  // namespace viva::bench
