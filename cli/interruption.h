// Interruption: a training that is asked to end does so after the step it is making; one that is asked twice, at once.
#pragma once

#include "viva/distributed/trainer.h"

namespace viva::cli {

// While it lives, SIGINT or SIGTERM asks the training to stop, and a SIGINT after either ends the program. One at a
// time, on the main thread.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  // Whom to ask; null: nobody, and who trains looks at interrupted_by() himself.
  void stops(distributed::Trainer* trainer);
};

// The signal that has asked for an end, or 0.
int interrupted_by();

}  // namespace viva::cli
