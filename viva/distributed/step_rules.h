// The rules of a step that the reference and the Trainer share: which batches it takes, and which gradients must be
// there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "viva/distributed/train.h"
#include "viva/optim/grad_sink.h"
#include "viva/optim/layout.h"

namespace viva::distributed {

// The configuration with its defaults filled in. ConfigError for a number outside its range.
TrainConfig checked(TrainConfig config);

// Which batches of the stream a step takes. Immutable; thread-safe.
class StepSchedule {
 public:
  // `loader_size`: batches in an epoch.
  StepSchedule(const TrainConfig& config, std::int64_t loader_size);

  // The number of the step's first batch in the stream.
  std::int64_t first_batch(std::int64_t step) const { return step * batches_per_step_; }
  // 0 where the data is over.
  std::int64_t batches_in(std::int64_t step) const;
  // The end of a run of `num_steps` from `first_step` on (-1: to the end of the data), or of the data where that comes
  // earlier. ConfigError for -1 without an end of the data, or another negative number.
  std::int64_t last_step(std::int64_t first_step, std::int64_t num_steps) const;

 private:
  std::int64_t batches_per_step_;
  std::int64_t total_batches_;  // -1: no end
};

// Which parameters each batch of a step gave a gradient. A parameter that none gave is left untouched; one that some
// gave and others did not is an error.
class GivenGrads {
 public:
  GivenGrads(std::size_t batches, std::size_t params) : params_(params), given_(batches * params) {}

  // Batches may be recorded by several threads, each by one.
  void record(std::size_t batch, const GradSink& sink);
  void record(std::size_t batch, std::span<const char> given);
  // What was recorded: one value a parameter.
  std::span<const char> of(std::size_t batch) const { return std::span(given_).subspan(batch * params_, params_); }
  // DimensionError naming step, worker and parameter where the first `batches` batches differ.
  void check(std::int64_t step, std::int64_t num_workers, const optim::Layout& layout, std::size_t batches) const;
  // Whether they agree: check() without the message.
  bool agree(std::size_t batches) const;
  // Whether the batches, which agree, gave parameter i.
  bool gave(std::size_t i) const { return given_[i] != 0; }

 private:
  std::size_t params_;
  std::vector<char> given_;  // (batches, params)
};

}  // namespace viva::distributed
