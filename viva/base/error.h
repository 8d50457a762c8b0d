// Every error viva throws: one class a kind, each with the fields a program needs to react to it.
//
// A message says what was expected, what was found, where, and what to do. docs/errors.md lists them all.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "viva/base/shape.h"

namespace viva {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Two shapes that must be equal are not. `where` names the tensor or operation.
class ShapeMismatch : public Error {
 public:
  ShapeMismatch(const std::string& where, Shape expected, Shape got);
  Shape expected, got;
};

// A shape or a size that is impossible by itself: a negative axis, an overflow, a batch size of zero.
class InvalidShape : public Error {
 public:
  using Error::Error;
};

// Names, counts or ranks that do not fit together; `name` is the offending parameter, or empty.
class DimensionError : public Error {
 public:
  explicit DimensionError(const std::string& message, std::string name = {});
  std::string name;
};

// Two shapes that do not broadcast to one.
class BroadcastError : public Error {
 public:
  BroadcastError(Shape shape_a, Shape shape_b);
  Shape shape_a, shape_b;
};

class IndexOutOfBounds : public Error {
 public:
  IndexOutOfBounds(const std::string& where, std::int64_t index, std::int64_t size);
  std::int64_t index, size;
};

// A dtype that an operation does not take, or two that must be equal and are not.
class DtypeError : public Error {
 public:
  using Error::Error;
};

// A setting that cannot be used. `file` and `line` (1-based) are empty and 0 where the setting came from code or the
// command line; `key` is the setting's full name, such as "train.workers".
class ConfigError : public Error {
 public:
  ConfigError(std::string file, std::int64_t line, std::string key, const std::string& message);
  std::string file;
  std::int64_t line;
  std::string key;
};

// A file that cannot be read or written, or whose content is not what it should be; `offset` in bytes, -1 where none
// applies.
class IoError : public Error {
 public:
  IoError(std::string path, std::int64_t offset, const std::string& message);
  std::string path;
  std::int64_t offset;
};

// A worker did not deliver within the limit. `batch` is its batch number in the stream.
class WorkerTimeout : public Error {
 public:
  WorkerTimeout(std::int64_t worker, std::int64_t batch, double seconds, const std::string& message);
  std::int64_t worker, batch;
  double seconds;
};

// A worker ended without delivering: by `exit_code`, or by `signal` where that is not 0.
class WorkerDied : public Error {
 public:
  WorkerDied(std::int64_t worker, std::int64_t batch, int exit_code, int signal, std::string last_message);
  std::int64_t worker, batch;
  int exit_code, signal;
  std::string last_message;
};

// A NaN or an infinity in a gradient: element `index` of parameter `name`, in row-major order. `worker` is
// kSumOfWorkers where each worker's gradient is finite and their sum is not.
inline constexpr std::int64_t kSumOfWorkers = -1;
class NonFiniteGradient : public Error {
 public:
  NonFiniteGradient(std::int64_t worker, std::int64_t step, std::string name, std::int64_t index);
  std::int64_t worker, step;
  std::string name;
  std::int64_t index;
};

// A callback threw, or its loss is not finite. The first cause by (step, worker, batch), whatever the timing; `what`
// of the cause is in `cause`. Steps count from 0; `batch` is the batch's number in the stream.
class WorkerFailed : public Error {
 public:
  WorkerFailed(std::int64_t step, std::int64_t worker, std::int64_t batch, std::string cause);
  std::int64_t step, worker, batch;
  std::string cause;
};

// Communication between workers broke.
class CommError : public Error {
 public:
  using Error::Error;
};

}  // namespace viva
