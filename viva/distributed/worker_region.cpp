#include "viva/distributed/worker_region.h"

#include <algorithm>
#include <array>
#include <new>
#include <span>
#include <string>
#include <string_view>

namespace viva::distributed {

// What a worker process says about a step, besides numbers by batch. A cause that is longer is cut.
struct WorkerRegion::Report {
  bool failed = false, has_bad_element = false;
  char skips = 0;
  std::int64_t worker = 0, batch = 0;
  ElementPlace bad_element;
  std::array<char, 2048> cause{};
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

void keep(std::string_view text, std::span<char> place) {
  const std::size_t length = std::min(text.size(), place.size() - 1);
  std::ranges::copy(text.substr(0, length), place.begin());
  place[length] = '\0';
}

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
  const auto& failure = board.failures[static_cast<std::size_t>(id)];
  report_->failed = failure.has_value();
  report_->skips = board.skips[static_cast<std::size_t>(id)];
  if (failure) {
    report_->worker = failure->worker;
    report_->batch = failure->batch;
    report_->has_bad_element = failure->bad_element.has_value();
    report_->bad_element = failure->bad_element.value_or(ElementPlace{});
    keep(failure->cause, report_->cause);
    return;
  }
  for_each_batch(batches, [&](std::size_t j) {
    losses_[j] = board.losses[j];
    lengths_[j] = board.lengths[j];
    std::ranges::copy(board.given.of(j), given_ + j * num_params_);
  });
  for (std::size_t slot = 0; slot < num_partials_; ++slot) weights_[slot] = executor.partial(slot).weight;
}

void WorkerRegion::load(StepBoard& board, std::int64_t id, std::int64_t batches) const {
  auto& failure = board.failures[static_cast<std::size_t>(id)];
  failure.reset();
  board.skips[static_cast<std::size_t>(id)] = report_->skips;
  if (report_->failed) {
    const auto end = std::ranges::find(report_->cause, '\0');
    failure = BatchFailure{report_->worker, report_->batch, std::string(report_->cause.begin(), end), {}, {}};
    if (report_->has_bad_element && report_->bad_element.entry < num_params_)
      failure->bad_element = report_->bad_element;
    return;
  }
  for_each_batch(batches, [&](std::size_t j) {
    board.losses[j] = losses_[j];
    board.lengths[j] = lengths_[j];
    board.given.record(j, std::span<const char>(given_ + j * num_params_, num_params_));
  });
}

void WorkerRegion::set_access(Access access) const { viva::set_access(memory_.get(), size_, access); }

}  // namespace viva::distributed
