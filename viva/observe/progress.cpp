#include "viva/observe/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace viva::observe {
namespace {

constexpr double kTerminalInterval = 0.1;
constexpr double kLineInterval = 5.0;
constexpr double kEpochLineInterval = 1.0;

// The epoch that the last step belonged to, from 1. The last step of all may be short, hence the upper bound.
std::int64_t epoch_of(const ProgressPlan& plan, std::int64_t steps) {
  const auto epoch = std::llround(std::ceil(static_cast<double>(steps) / plan.steps_per_epoch));
  return std::clamp<std::int64_t>(epoch, 1, plan.total_epochs);
}

// "1,234,567".
std::string grouped(std::int64_t number) {
  std::string text = fmt::format("{}", number);
  for (std::ptrdiff_t i = std::ssize(text) - 3; i > 0; i -= 3) text.insert(static_cast<std::size_t>(i), 1, ',');
  return text;
}

std::string duration(double seconds) {
  const auto whole = std::llround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

}  // namespace

ProgressTarget progress_target(std::FILE* stream) {
  const int descriptor = ::fileno(stream);
  const char* terminal = std::getenv("TERM");
  if (::isatty(descriptor) == 0 || terminal == nullptr || std::string_view(terminal) == "dumb") return {stream, 0};
  winsize size = {};
  const bool known = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return {stream, known ? size.ws_col : 80};
}

std::string progress_text(const ProgressPlan& plan, const ProgressMoment& moment) {
  std::string text = fmt::format("epoch {}/{}  step {}/{}", epoch_of(plan, moment.steps), plan.total_epochs,
                                 grouped(moment.steps), grouped(plan.total_steps));
  if (moment.steps > 0) text += fmt::format("  loss {:.4f}", moment.loss);
  if (moment.steps > 0 && moment.seconds > 0) {
    const double left =
        moment.seconds / static_cast<double>(moment.steps) * static_cast<double>(plan.total_steps - moment.steps);
    text += fmt::format("  {} samples/s", grouped(std::llround(static_cast<double>(moment.samples) / moment.seconds)));
    if (moment.steps < plan.total_steps) text += fmt::format("  {} left", duration(left));
  }
  return text;
}

ProgressLine::~ProgressLine() {
  if (open_) std::fputc('\n', target_.stream);
}

bool ProgressLine::due(const ProgressMoment& moment) const {
  const double since = moment.seconds - shown_.seconds;
  if (target_.columns > 0) return !open_ || since >= kTerminalInterval;
  const bool epoch_ended = std::floor(static_cast<double>(moment.steps) / plan_.steps_per_epoch) >
                           std::floor(static_cast<double>(shown_.steps) / plan_.steps_per_epoch);
  return since >= kLineInterval || (epoch_ended && since >= kEpochLineInterval);
}

void ProgressLine::show(const ProgressMoment& moment) {
  std::string text = progress_text(plan_, moment);
  if (target_.columns > 0) {
    // A line that wraps cannot be written again. "\033[K" clears what a longer line has left.
    text = fmt::format("\r{:.{}}\033[K", text, target_.columns - 1);
    open_ = true;
  } else {
    text += '\n';
  }
  std::fputs(text.c_str(), target_.stream);
  std::fflush(target_.stream);
  shown_ = moment;
}

void ProgressLine::update(const ProgressMoment& moment) {
  if (due(moment)) show(moment);
}

void ProgressLine::note(const std::string& text) {
  std::fputs(fmt::format("{}{}\n", open_ ? "\r\033[K" : "", text).c_str(), target_.stream);
  std::fflush(target_.stream);
  open_ = false;
}

void ProgressLine::finish(const ProgressMoment& moment) {
  show(moment);
  if (open_) std::fputc('\n', target_.stream);
  open_ = false;
}

}  // namespace viva::observe
