// Rivals: other trainers on the same model, data and CPUs, run as programs of their own (bench/rivals/).
#pragma once

#include <string>

namespace viva::bench {

// How the rival is run. Batch sizes are per process.
struct TorchSetup {
  int processes = 1;
  int threads = 1;  // of each process
  int batch_size = 64;
  int steps = 300;
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

  // Samples a second on as many CPUs as it has threads. Error where the rival fails, did not learn, trained another
  // number of parameters, or where its processes' parameters differ.
  double measure(const TorchSetup& setup) const;

 private:
  std::string reason_, description_;
  bool slow_blas_ = false;
};

}  // namespace viva::bench
