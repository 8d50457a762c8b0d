#include "cli/progress_watch.h"

#include <utility>

namespace viva::cli {

using std::chrono::steady_clock;

ProgressWatch::ProgressWatch(const observe::ProgressPlan& plan, std::function<distributed::Progress()> source)
    : source_(std::move(source)), line_(observe::progress_target(stderr), plan), thread_([this] { watch(); }) {}

ProgressWatch::~ProgressWatch() { stop(); }

observe::ProgressMoment ProgressWatch::now() const {
  const distributed::Progress progress = source_();
  return {.steps = progress.steps,
          .samples = progress.samples,
          .loss = progress.last_loss,
          .seconds = std::chrono::duration<double>(steady_clock::now() - begin_).count()};
}

void ProgressWatch::watch() {
  constexpr auto kInterval = std::chrono::milliseconds(100);
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, kInterval, [this] { return stop_; })) {
    if (paused_) continue;
    if (const observe::ProgressMoment moment = now(); moment.steps > 0) line_.update(moment);
  }
}

void ProgressWatch::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void ProgressWatch::pause() {
  const std::lock_guard lock(mutex_);
  paused_ = true;
  pause_begin_ = steady_clock::now();
}

void ProgressWatch::note(const std::string& text) {
  const std::lock_guard lock(mutex_);
  line_.note(text);
}

void ProgressWatch::resume() {
  const std::lock_guard lock(mutex_);
  paused_ = false;
  begin_ += steady_clock::now() - pause_begin_;
}

void ProgressWatch::finish() {
  stop();
  line_.finish(now());
}

}  // namespace viva::cli
