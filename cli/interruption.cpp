#include "cli/interruption.h"

#include <atomic>
#include <csignal>

namespace viva::cli {
namespace {

// What a handler can reach.
std::atomic<int> asked_by{0};
std::atomic<distributed::Trainer*> training{nullptr};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<distributed::Trainer*>::is_always_lock_free);

extern "C" void ask_for_end(int signal) {
  if (asked_by.exchange(signal) != 0 && signal == SIGINT) {
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
    return;
  }
  if (distributed::Trainer* const trainer = training) trainer->request_stop();
}

}  // namespace

Interruption::Interruption() {
  for (const int signal : {SIGINT, SIGTERM}) {
    // Who started the program in the background had SIGINT ignored, and means it.
    if (std::signal(signal, ask_for_end) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
}

Interruption::~Interruption() {
  for (const int signal : {SIGINT, SIGTERM}) {
    if (std::signal(signal, SIG_DFL) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
  training = nullptr;
}

void Interruption::stops(distributed::Trainer* trainer) {
  training = trainer;
  // It may have been asked for before there was anyone to tell.
  if (trainer != nullptr && interrupted_by() != 0) trainer->request_stop();
}

int interrupted_by() { return asked_by; }

}  // namespace viva::cli
