#include "bench/random_kills.h"

#include <atomic>
#include <cmath>
#include <csignal>
#include <ctime>
#include <new>
#include <utility>

#include "viva/base/error.h"
#include "viva/base/shared_mapping.h"

namespace viva::bench {
namespace {

using Struck = std::atomic<bool>;
static_assert(Struck::is_always_lock_free);

// The kernel keeps the appointment, whatever the process is doing then.
void die_in(double seconds) {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGKILL;
  timer_t timer{};
  itimerspec when{};
  const double whole = std::floor(seconds);
  when.it_value = {static_cast<time_t>(whole), 1 + static_cast<long>((seconds - whole) * 999'999'998)};
  if (::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || ::timer_settime(timer, 0, &when, nullptr) != 0) {
    throw Error("bench: cannot set a timer");
  }
}

}  // namespace

distributed::ComputeGrads with_kills(distributed::ComputeGrads compute, std::vector<Kill> kills) {
  // All processes know which of the kills have struck.
  const SharedBytes bytes = make_shared_bytes(kills.size() * sizeof(Struck) + 1);
  auto* struck = reinterpret_cast<Struck*>(bytes.get());
  for (std::size_t i = 0; i < kills.size(); ++i) new (struck + i) Struck(false);
  return distributed::ComputeGrads(
      [compute = std::move(compute), kills = std::move(kills), bytes, struck](
          const StepContext& context, const data::Batch& batch, std::span<const Param> params, GradSink& sink) {
        for (std::size_t i = 0; i < kills.size(); ++i) {
          const Kill& kill = kills[i];
          if (kill.step != context.step || kill.worker != context.worker) continue;
          if (!struck[i].exchange(true)) die_in(kill.seconds);
        }
        return compute(context, batch, params, sink);
      });
}

}  // namespace viva::bench
