#include "viva/distributed/fault_injection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <ctime>
#include <limits>
#include <new>
#include <string_view>
#include <thread>
#include <utility>

#include "viva/base/error.h"
#include "viva/base/shared_mapping.h"
#include "viva/tensor/random.h"

namespace viva::distributed {
namespace {

using Kind = Fault::Kind;

constexpr std::array<std::pair<std::string_view, Kind>, 6> kKinds{{{"kill", Kind::kKill},
                                                                   {"hang", Kind::kHang},
                                                                   {"throw", Kind::kThrow},
                                                                   {"nan", Kind::kNan},
                                                                   {"slow", Kind::kSlow},
                                                                   {"random-kill", Kind::kRandomKill}}};

// One fault's text, read from left to right.
class FaultReader {
 public:
  explicit FaultReader(const std::string& text) : text_(text), rest_(text) {}

  Fault read() {
    const auto name = take(":=,");
    const auto kind = std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& k) { return k.first == name; });
    if (kind == kKinds.end()) reject("expected kill, hang, throw, nan, slow or random-kill");
    fault_.kind = kind->second;
    if (fault_.kind == Kind::kSlow) fault_.seconds = seconds(value());
    if (fault_.kind == Kind::kRandomKill) {
      fault_.probability = number<double>(value());
      if (!(fault_.probability >= 0 && fault_.probability <= 1)) reject("expected a probability from 0 to 1");
    }
    while (!rest_.empty()) setting();
    return fault_;
  }

 private:
  [[noreturn]] void reject(const std::string& expected) const {
    throw ConfigError({}, 0, "inject",
                      fmt::format("\"{}\": {}; such as kill:worker=1,step=7, slow=200ms or random-kill=0.01,seed=3",
                                  text_, expected));
  }

  // Up to one of `ends`, which is taken away.
  std::string_view take(std::string_view ends) {
    const std::size_t end = std::min(rest_.find_first_of(ends), rest_.size());
    const std::string_view taken = rest_.substr(0, end);
    end_ = end < rest_.size() ? rest_[end] : '\0';
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return taken;
  }
  std::string_view value() {
    if (end_ != '=') reject("expected a value");
    return take(",");
  }

  void setting() {
    const auto key = take("=,");
    const auto text = value();
    const bool struck = fault_.kind != Kind::kSlow && fault_.kind != Kind::kRandomKill;
    if (key == "worker") {
      fault_.worker = count(text, 0);
    } else if (key == "step") {
      fault_.step = count(text, 0);
    } else if (key == "times" && struck) {
      fault_.times = count(text, 1);
    } else if (key == "after" && fault_.kind == Kind::kKill) {
      fault_.seconds = seconds(text);
    } else if (key == "seed" && fault_.kind == Kind::kRandomKill) {
      fault_.seed = number<std::uint64_t>(text);
    } else {
      reject(fmt::format("it has no setting {}", key));
    }
  }

  template <typename T>
  T number(std::string_view text) const {
    T result{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
    if (error != std::errc() || end != text.data() + text.size()) reject(fmt::format("{} is not a number", text));
    return result;
  }
  std::int64_t count(std::string_view text, std::int64_t least) const {
    const auto result = number<std::int64_t>(text);
    if (result < least) reject(fmt::format("{} is below {}", result, least));
    return result;
  }
  double seconds(std::string_view text) const {
    double unit = 0;
    if (text.ends_with("ms")) {
      unit = 1e-3;
      text.remove_suffix(2);
    } else if (text.ends_with("s")) {
      unit = 1;
      text.remove_suffix(1);
    }
    const double result = unit > 0 ? number<double>(text) * unit : -1;
    if (!(result >= 0 && std::isfinite(result))) reject("expected a time such as 200ms or 1.5s");
    return result;
  }

  const std::string& text_;
  std::string_view rest_;
  char end_ = '\0';  // what ended the last piece
  Fault fault_;
};

// What all processes remember: how often each fault has struck, and the last batch of each worker that was picked at
// random, which its replacement must get past.
class FaultMemory {
 public:
  FaultMemory(std::size_t faults, std::size_t workers)
      : bytes_(make_shared_bytes((faults + faults * workers) * sizeof(Count))), workers_(workers) {
    counts_ = reinterpret_cast<Count*>(bytes_.get());
    for (std::size_t i = 0; i < faults; ++i) new (counts_ + i) Count(0);
    for (std::size_t i = 0; i < faults * workers; ++i) new (counts_ + faults + i) Count(-1);
    last_ = counts_ + faults;
  }

  bool strikes(std::size_t fault, std::int64_t times) const { return counts_[fault].fetch_add(1) < times; }
  // Whether the worker's batch is later than all for which this was asked before.
  bool is_new(std::size_t fault, std::int64_t worker, std::int64_t batch) const {
    // Its own process alone writes the place; a replacement begins with earlier batches of the step.
    Count& last = last_[fault * workers_ + static_cast<std::size_t>(worker)];
    if (batch <= last.load()) return false;
    last.store(batch);
    return true;
  }

 private:
  using Count = std::atomic<std::int64_t>;
  SharedBytes bytes_;
  std::size_t workers_;
  Count* counts_;
  Count* last_;
};

bool applies(const Fault& fault, const StepContext& context) {
  return fault.worker.value_or(context.worker) == context.worker && fault.step.value_or(context.step) == context.step;
}

// The kernel keeps the appointment, whatever the process is doing then.
void die_in(double seconds) {
  if (seconds <= 0) std::raise(SIGKILL);
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGKILL;
  timer_t timer{};
  itimerspec when{};
  const double whole = std::floor(seconds);
  when.it_value = {static_cast<time_t>(whole), 1 + static_cast<long>((seconds - whole) * 999'999'998)};
  if (::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || ::timer_settime(timer, 0, &when, nullptr) != 0) {
    throw Error(fmt::format("kill: cannot set a timer: {}", std::strerror(errno)));
  }
}

// What strikes before the batch is computed.
void strike(const Fault& fault, std::size_t i, const FaultMemory& memory, const StepContext& context) {
  switch (fault.kind) {
    case Kind::kKill:
      if (memory.strikes(i, fault.times)) die_in(fault.seconds);
      break;
    case Kind::kHang:
      if (memory.strikes(i, fault.times)) {
        for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
      }
      break;
    case Kind::kThrow:
      if (memory.strikes(i, fault.times)) throw Error("an exception was injected");
      break;
    case Kind::kSlow:
      std::this_thread::sleep_for(std::chrono::duration<double>(fault.seconds));
      break;
    case Kind::kRandomKill: {
      const RandomStream random(fault.seed, RandomPurpose::kFault, 0);
      const bool picked = random.uniform(static_cast<std::uint64_t>(context.batch)) < fault.probability;
      if (picked && memory.is_new(i, context.worker, context.batch)) std::raise(SIGKILL);
      break;
    }
    case Kind::kNan:
      break;
  }
}

void spoil(GradSink& sink) {
  for (std::size_t p = 0; p < sink.size(); ++p) {
    if (!sink.given(p) || sink.grad(p).size() == 0) continue;
    visit_floating(sink.grad(p).dtype(), "spoil", [&](auto type) {
      using T = decltype(type);
      sink.grad(p).mutable_values<T>()[0] = std::numeric_limits<T>::quiet_NaN();
    });
    return;
  }
}

}  // namespace

Fault parse_fault(const std::string& text) { return FaultReader(text).read(); }

ComputeGrads with_faults(ComputeGrads compute, std::vector<Fault> faults, std::int64_t num_workers) {
  if (faults.empty()) return compute;
  const FaultMemory memory(faults.size(), static_cast<std::size_t>(num_workers));
  return [compute = std::move(compute), faults = std::move(faults), memory](
             const StepContext& context, const data::Batch& batch, std::span<const Param> params, GradSink& sink) {
    for (std::size_t i = 0; i < faults.size(); ++i) {
      if (applies(faults[i], context)) strike(faults[i], i, memory, context);
    }
    const double loss = compute(context, batch, params, sink);
    for (std::size_t i = 0; i < faults.size(); ++i) {
      const bool spoils = faults[i].kind == Kind::kNan && applies(faults[i], context);
      if (spoils && memory.strikes(i, faults[i].times)) spoil(sink);
    }
    return loss;
  };
}

}  // namespace viva::distributed
