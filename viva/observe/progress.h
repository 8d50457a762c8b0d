// ProgressLine: how far a training is, for a person who watches or a log that is read later.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace viva::observe {

// Where the text goes: a terminal whose line can be written again, `columns` wide, or a file or pipe (0 columns).
struct ProgressTarget {
  std::FILE* stream = stderr;
  int columns = 0;
};

// Finds out what `stream` is. A "dumb" terminal counts as a file.
ProgressTarget progress_target(std::FILE* stream);

struct ProgressPlan {
  std::int64_t total_steps = 0;
  std::int64_t total_epochs = 1;  // begun, at least
  double steps_per_epoch = 1;     // a step may span two epochs
};

// A moment of the training.
struct ProgressMoment {
  std::int64_t steps = 0;
  std::int64_t samples = 0;
  double loss = 0;
  double seconds = 0;  // since the first step began
};

// "epoch 2/5  step 300/1,175  loss 0.4321  150,123 samples/s  3 s left", without control characters.
std::string progress_text(const ProgressPlan& plan, const ProgressMoment& moment);

// On a terminal one line, written again at most ten times a second; elsewhere a line at the end of an epoch or every
// five seconds, at most one a second. The stream's errors are ignored: training goes on without an audience. Used by
// one thread at a time.
class ProgressLine {
 public:
  ProgressLine(const ProgressTarget& target, const ProgressPlan& plan) : target_(target), plan_(plan) {}
  // Ends the line that is still open on a terminal, as after an error.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Shows the moment if it is time to.
  void update(const ProgressMoment& moment);
  // Writes a line of its own, for something that happened.
  void note(const std::string& text);
  // Shows the last moment and ends the line.
  void finish(const ProgressMoment& moment);

 private:
  bool due(const ProgressMoment& moment) const;
  void show(const ProgressMoment& moment);

  ProgressTarget target_;
  ProgressPlan plan_;
  ProgressMoment shown_;
  bool open_ = false;
};

}  // namespace viva::observe
