#include "viva/base/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace viva {

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

ShapeMismatch::ShapeMismatch(const std::string& where, Shape expected_shape, Shape got_shape)
    : Error(fmt::format("{}: expected shape {}, got {}", where, to_string(expected_shape), to_string(got_shape))),
      expected(std::move(expected_shape)),
      got(std::move(got_shape)) {}

DimensionError::DimensionError(const std::string& message, std::string offending_name)
    : Error(message), name(std::move(offending_name)) {}

BroadcastError::BroadcastError(Shape a, Shape b)
    : Error(fmt::format("shapes {} and {} do not broadcast: axes must be equal or 1, counted from the last",
                        to_string(a), to_string(b))),
      shape_a(std::move(a)),
      shape_b(std::move(b)) {}

IndexOutOfBounds::IndexOutOfBounds(const std::string& where, std::int64_t index_, std::int64_t size_)
    : Error(size_ == 0 ? fmt::format("{}: index {}, but it is empty", where, index_)
                       : fmt::format("{}: index {} is outside {}..{}", where, index_, -size_, size_ - 1)),
      index(index_),
      size(size_) {}

namespace {

std::string config_place(const std::string& file, std::int64_t line, const std::string& key) {
  std::string place;
  if (!file.empty()) place += line > 0 ? fmt::format("{}:{}: ", file, line) : file + ": ";
  if (!key.empty()) place += key + ": ";
  return place;
}

}  // namespace

ConfigError::ConfigError(std::string file_, std::int64_t line_, std::string key_, const std::string& message)
    : Error(config_place(file_, line_, key_) + message), file(std::move(file_)), line(line_), key(std::move(key_)) {}

IoError::IoError(std::string path_, std::int64_t offset_, const std::string& message)
    : Error(offset_ >= 0 ? fmt::format("{}: at byte {}: {}", path_, offset_, message)
                         : fmt::format("{}: {}", path_, message)),
      path(std::move(path_)),
      offset(offset_) {}

WorkerTimeout::WorkerTimeout(std::int64_t worker_, std::int64_t batch_, double seconds_, const std::string& message)
    : Error(message), worker(worker_), batch(batch_), seconds(seconds_) {}

WorkerDied::WorkerDied(std::int64_t worker_, std::int64_t batch_, int exit_code_, int signal_, std::string message)
    : Error(fmt::format("worker {} died in batch {}: {}{}{}", worker_, batch_,
                        signal_ != 0 ? fmt::format("signal {}", signal_) : fmt::format("exit code {}", exit_code_),
                        message.empty() ? "" : ": ", message)),
      worker(worker_),
      batch(batch_),
      exit_code(exit_code_),
      signal(signal_),
      last_message(std::move(message)) {}

NonFiniteGradient::NonFiniteGradient(std::int64_t worker_, std::int64_t step_, std::string name_, std::int64_t index_)
    : Error(fmt::format("step {}, {}: gradient of '{}' is not finite at element {}", step_,
                        worker_ == kSumOfWorkers ? "the sum over the workers, each of them finite"
                                                 : fmt::format("worker {}", worker_),
                        name_, index_)),
      worker(worker_),
      step(step_),
      name(std::move(name_)),
      index(index_) {}

WorkerFailed::WorkerFailed(std::int64_t step_, std::int64_t worker_, std::int64_t batch_, std::string cause_)
    : Error(fmt::format("step {}, worker {}, batch {}: {}", step_, worker_, batch_, cause_)),
      step(step_),
      worker(worker_),
      batch(batch_),
      cause(std::move(cause_)) {}

}  // namespace viva
