// FailedBatch: what a batch that ends whoever computes it was computed with, as a file, so that it can be computed once
// more where a debugger sees it.
//
// The file is a safetensors file (see io/safetensors.h): the parameters under their names, and as int64 tensors of
// shape (1) "failed_batch.step", "failed_batch.worker" and "failed_batch.batch", with "failed_batch.samples" of shape
// (number of samples).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "viva/data/dataloader.h"
#include "viva/distributed/compute_grads.h"

namespace viva::distributed {

struct FailedBatch {
  std::int64_t step = 0, worker = 0;
  std::int64_t batch = 0;             // its number in the stream of epochs
  std::vector<std::int64_t> samples;  // of the dataset
  std::vector<Param> params;          // as they were before the step; the file does not have their roles
};

// Atomically; IoError.
void write_failed_batch(const std::string& path, const FailedBatch& failed);
// The same, into `directory` under a name of its own, for who has an error to report: says where it lies, or why it
// does not.
std::string keep_failed_batch(const std::string& directory, const FailedBatch& failed);
// IoError for a file that is none.
FailedBatch read_failed_batch(const std::string& path);

// The batch's loss and gradients, computed by the thread that calls, with the settings of KernelScope: where the batch
// ended a worker process, it ends this one. `loader` must have the same samples in that batch, as the training's own
// had; otherwise ConfigError. What the callback throws comes through.
LossAndGrads replay(const FailedBatch& failed, const data::DataLoader& loader, const ComputeGrads& compute_grads);

}  // namespace viva::distributed
