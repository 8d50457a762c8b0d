#include "viva/distributed/worker_region.h"

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <span>
#include <string>

namespace viva::distributed {

// A BatchFailure without pointers. A cause that is longer is cut.
struct WorkerRegion::FailureReport {
  bool happened = false, has_bad_element = false;
  std::int64_t worker = 0, batch = 0;
  ElementPlace bad_element;
  std::array<char, 2048> cause{};

  void store(const std::optional<BatchFailure>& failure) {
    happened = failure.has_value();
    if (!failure) return;
    worker = failure->worker;
    batch = failure->batch;
    has_bad_element = failure->bad_element.has_value();
    bad_element = failure->bad_element.value_or(ElementPlace{});
    const std::size_t length = std::min(failure->cause.size(), cause.size() - 1);
    std::copy_n(failure->cause.begin(), length, cause.begin());
    cause[length] = '\0';
  }
  // Whoever wrote this may have lost his mind: nothing of it leads out of bounds.
  std::optional<BatchFailure> load(std::size_t params) const {
    if (!happened) return std::nullopt;
    const std::string text(cause.begin(), std::ranges::find(cause, '\0'));
    BatchFailure failure{worker, batch, text, {}, {}};
    if (has_bad_element && bad_element.entry < params) failure.bad_element = bad_element;
    return failure;
  }
};

// What a worker process says about a step, besides numbers by batch.
struct WorkerRegion::Report {
  FailureReport failure, retried;
  char skips = 0, stops = 0;
};

namespace {

// Places for arrays, one behind the other, each on a cache line of its own.
class Placement {
 public:
  std::size_t take(std::size_t bytes) {
    const std::size_t begin = end_;
    end_ = round_up(end_ + bytes, kAlignment);
    return begin;
  }
  std::size_t end() const { return end_; }

 private:
  std::size_t end_ = 0;
};

}  // namespace

WorkerRegion::WorkerRegion(const TrainConfig& config, const optim::Layout& layout,
                           const comm::ReductionPlan::Block& block)
    : workers_(block.workers),
      num_workers_(config.num_workers),
      num_params_(layout.entries().size()),
      num_partials_(block.num_partials) {
  const auto batches = static_cast<std::size_t>(config.batches_per_step);
  const std::size_t slot_bytes = static_cast<std::size_t>(layout.size()) * size_of(layout.dtype());
  Placement placement;
  const std::size_t channel = placement.take(sizeof(WorkerChannel));
  const std::size_t report = placement.take(sizeof(Report));
  const std::size_t losses = placement.take(batches * sizeof(double));
  const std::size_t seconds = placement.take(batches * sizeof(double));
  const std::size_t lengths = placement.take(batches * sizeof(std::int64_t));
  const std::size_t given = placement.take(batches * num_params_);
  const std::size_t weights = placement.take(num_partials_ * sizeof(double));
  std::vector<std::size_t> slots;
  for (std::int64_t s = 0; s < block.slots; ++s) slots.push_back(placement.take(slot_bytes));
  size_ = placement.end();

  memory_ = make_shared_bytes(size_);
  std::byte* const begin = memory_.get();
  channel_ = new (begin + channel) WorkerChannel;
  report_ = new (begin + report) Report;
  losses_ = reinterpret_cast<double*>(begin + losses);
  seconds_ = reinterpret_cast<double*>(begin + seconds);
  lengths_ = reinterpret_cast<std::int64_t*>(begin + lengths);
  given_ = reinterpret_cast<char*>(begin + given);
  weights_ = reinterpret_cast<double*>(begin + weights);
  for (const std::size_t slot : slots) {
    slots_.push_back(Tensor::over(memory_, begin + slot, {layout.size()}, layout.dtype()));
  }
}

// The block's batches, worker by worker.
template <typename F>
void WorkerRegion::for_each_batch(std::int64_t batches, F visit) const {
  for (std::int64_t w = workers_.lo; w < workers_.hi; ++w) {
    for (std::int64_t j = w; j < batches; j += num_workers_) visit(static_cast<std::size_t>(j));
  }
}

void WorkerRegion::store(const StepBoard& board, std::int64_t id, const Executor& executor, std::int64_t batches) {
  const auto own = static_cast<std::size_t>(id);
  report_->failure.store(board.failures[own]);
  report_->retried.store(board.retried[own]);
  report_->skips = board.skips[own];
  report_->stops = board.stops[own];
  for_each_batch(batches, [&](std::size_t j) {
    losses_[j] = board.losses[j];
    lengths_[j] = board.lengths[j];
    seconds_[j] = board.seconds[j];
    std::ranges::copy(board.given.of(j), given_ + j * num_params_);
  });
  for (std::size_t slot = 0; slot < num_partials_; ++slot) weights_[slot] = executor.partial(slot).weight;
}

void WorkerRegion::load(StepBoard& board, std::int64_t id, std::int64_t batches) const {
  const auto own = static_cast<std::size_t>(id);
  board.failures[own] = report_->failure.load(num_params_);
  board.retried[own] = report_->retried.load(num_params_);
  board.skips[own] = report_->skips;
  board.stops[own] = report_->stops;
  for_each_batch(batches, [&](std::size_t j) {
    board.losses[j] = losses_[j];
    board.lengths[j] = lengths_[j];
    board.seconds[j] = seconds_[j];
    board.given.record(j, std::span<const char>(given_ + j * num_params_, num_params_));
  });
}

void WorkerRegion::set_access(Access access) const { viva::set_access(memory_.get(), size_, access); }

}  // namespace viva::distributed
