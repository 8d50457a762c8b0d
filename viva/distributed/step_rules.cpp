#include "viva/distributed/step_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace viva::distributed {
namespace {

void expect_count(const char* key, std::int64_t value, std::int64_t most) {
  if (value < 1 || value > most) {
    throw ConfigError({}, 0, key, fmt::format("expected a number from 1 to {}, got {}", most, value));
  }
}

void expect_positive(const char* key, std::optional<double> value) {
  if (!value || (std::isfinite(*value) && *value > 0)) return;
  throw ConfigError({}, 0, key, fmt::format("expected a number > 0, got {}", *value));
}

}  // namespace

TrainConfig checked(TrainConfig config) {
  constexpr std::int64_t kMostWorkers = 1 << 20;
  constexpr std::int64_t kMostBatches = 1 << 24;
  expect_count("train.workers", config.num_workers, kMostWorkers);
  if (config.batches_per_step == 0) config.batches_per_step = config.num_workers;
  expect_count("train.batches_per_step", config.batches_per_step, kMostBatches);
  if (config.epochs < 0) {
    throw ConfigError({}, 0, "train.epochs", fmt::format("expected a number >= 0, got {}", config.epochs));
  }
  expect_positive("train.clip_norm", config.clipping.norm);
  expect_positive("train.clip_value", config.clipping.value);
  if (!(config.buffer_momentum >= 0 && config.buffer_momentum <= 1)) {
    throw ConfigError({}, 0, "train.buffer_momentum",
                      fmt::format("expected a number from 0 to 1, got {}", config.buffer_momentum));
  }
  return config;
}

StepSchedule::StepSchedule(const TrainConfig& config, std::int64_t loader_size)
    : batches_per_step_(config.batches_per_step), total_batches_(-1) {
  if (loader_size == 0) {
    total_batches_ = 0;
  } else if (config.epochs > 0) {
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max() / 2;
    total_batches_ = config.epochs > kMost / loader_size ? kMost : config.epochs * loader_size;
  }
}

std::int64_t StepSchedule::batches_in(std::int64_t step) const {
  if (total_batches_ < 0) return batches_per_step_;
  return std::clamp<std::int64_t>(total_batches_ - first_batch(step), 0, batches_per_step_);
}

std::int64_t StepSchedule::last_step(std::int64_t first_step, std::int64_t num_steps) const {
  if (num_steps < -1) {
    throw ConfigError({}, 0, "train.steps", fmt::format("expected a number of steps >= 0, got {}", num_steps));
  }
  if (total_batches_ < 0) {
    if (num_steps < 0) throw ConfigError({}, 0, "train.steps", "training needs an end: a number of steps or of epochs");
    return first_step + num_steps;
  }
  const std::int64_t end = total_batches_ / batches_per_step_ + (total_batches_ % batches_per_step_ != 0 ? 1 : 0);
  return num_steps < 0 ? end : std::min(end, first_step + num_steps);
}

void GivenGrads::record(std::size_t batch, const GradSink& sink) {
  for (std::size_t i = 0; i < params_; ++i) given_[batch * params_ + i] = sink.given(i) ? 1 : 0;
}

void GivenGrads::record(std::size_t batch, std::span<const char> given) {
  std::ranges::copy(given, given_.begin() + static_cast<std::ptrdiff_t>(batch * params_));
}

bool GivenGrads::agree(std::size_t batches) const {
  const auto first = given_.begin();
  const auto row = static_cast<std::ptrdiff_t>(params_);
  for (std::ptrdiff_t j = 1; j < static_cast<std::ptrdiff_t>(batches); ++j) {
    if (!std::equal(first, first + row, first + j * row)) return false;
  }
  return true;
}

void GivenGrads::check(std::int64_t step, std::int64_t num_workers, const optim::Layout& layout,
                       std::size_t batches) const {
  if (agree(batches)) return;
  // In the order of workers, and of a worker's batches.
  const auto workers = static_cast<std::size_t>(num_workers);
  for (std::size_t w = 0; w < workers; ++w) {
    for (std::size_t j = w; j < batches; j += workers) {
      for (std::size_t i = 0; i < params_; ++i) {
        const bool expected = given_[i] != 0, got = given_[j * params_ + i] != 0;
        if (expected == got) continue;
        const std::string& name = layout.entries()[i].name;
        throw DimensionError(
            fmt::format("step {}, worker {}: {} gradient for '{}', which worker 0 {}; every batch of a step must give "
                        "the same parameters",
                        step, w, got ? "a" : "no", name, expected ? "gave" : "did not give"),
            name);
      }
    }
  }
}

}  // namespace viva::distributed
