// ProgressWatch: a thread that shows how far a training is while another one trains.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "viva/distributed/trainer.h"
#include "viva/observe/progress.h"

namespace viva::cli {

class ProgressWatch {
 public:
  // `source` is called from the thread of this watch, and from finish(). Shows nothing before the first step is done.
  ProgressWatch(const observe::ProgressPlan& plan, std::function<distributed::Progress()> source);
  // Ends the thread and the line.
  ~ProgressWatch();
  ProgressWatch(const ProgressWatch&) = delete;
  ProgressWatch& operator=(const ProgressWatch&) = delete;

  // While training pauses: writes a line, and stops the clock until resume().
  void pause();
  void note(const std::string& text);
  void resume();
  // Shows where training has ended.
  void finish();

 private:
  observe::ProgressMoment now() const;
  void watch();
  void stop();

  std::function<distributed::Progress()> source_;
  observe::ProgressLine line_;
  std::mutex mutex_;  // guards the following and line_
  std::condition_variable stopped_;
  bool stop_ = false, paused_ = false;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();  // less the time of pauses
  std::chrono::steady_clock::time_point pause_begin_;
  std::thread thread_;
};

}  // namespace viva::cli
