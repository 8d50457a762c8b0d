// Rivals: other trainers on the same model, data and CPUs, run as programs of their own (bench/rivals/).
#pragma once

#include <string>
#include <vector>

#include "bench/training.h"

namespace viva::bench {

// How the rival is run. The batch size is per process.
struct RivalSetup {
  std::string model;
  int processes = 1;
  int threads = 1;  // of each process
  std::int64_t batch_size = 64;
  int steps = 300, warm_up_steps = 50;
  bool fused = false;     // the optimizer in one kernel
  bool compiled = false;  // by torch.compile
  // What a right answer is.
  std::int64_t parameters = 0;
  double learnt_loss = 0;
};

// PyTorch: DistributedDataParallel over Gloo, or one process.
class Torch {
 public:
  // Asks the installed PyTorch what it is.
  Torch();

  bool available() const { return reason_.empty(); }
  // Why it cannot run.
  const std::string& reason() const { return reason_; }
  // Version and linear-algebra library.
  const std::string& description() const { return description_; }
  // Its linear-algebra library is the slow reference: a comparison would not be fair.
  bool slow_blas() const { return slow_blas_; }
  // What this version cannot do, for people.
  const std::vector<std::string>& skipped() const { return skipped_; }

  // Every way of running that this version has.
  std::vector<RivalSetup> setups(const Problem& problem) const;

  // Samples a second on as many CPUs as it has threads. Error where the rival fails, did not learn, trained another
  // number of parameters, or where its processes' parameters differ.
  double measure(const RivalSetup& setup) const;

 private:
  std::string reason_, description_;
  bool slow_blas_ = false, fused_ = false, compiles_ = false;
  std::vector<std::string> skipped_;
};

}  // namespace viva::bench
