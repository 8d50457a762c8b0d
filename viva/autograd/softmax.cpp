#include "viva/autograd/softmax.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "viva/autograd/pointwise_kernels.h"

namespace viva::autograd {
namespace {

struct Rows {
  std::int64_t count, width;
};

Rows rows_of(const Shape& shape, const char* where) {
  if (shape.empty() || shape.back() == 0) {
    throw InvalidShape(std::string(where) + ": expected a last axis of at least 1, got " + to_string(shape));
  }
  return {element_count(shape) / shape.back(), shape.back()};
}

template <typename T>
double sum_of(const T* row, std::int64_t width) {
  double sum = 0;
  for (std::int64_t c = 0; c < width; ++c) sum += static_cast<double>(row[c]);
  return sum;
}

// out = x, less the largest of its row.
template <typename T>
void subtract_largest(const T* x, T* out, Rows rows) {
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const T* const row = x + r * rows.width;
    const T largest = *std::max_element(row, row + rows.width);
    std::transform(row, row + rows.width, out + r * rows.width, [largest](T value) { return value - largest; });
  }
}

// dx = y·(dy - Σ dy·y) of each row.
template <typename T>
void softmax_backward(const T* y, const T* dy, T* dx, Rows rows) {
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const std::int64_t at = r * rows.width;
    double dot = 0;
    for (std::int64_t c = at; c < at + rows.width; ++c) dot += static_cast<double>(y[c]) * static_cast<double>(dy[c]);
    for (std::int64_t c = at; c < at + rows.width; ++c) dx[c] = y[c] * (dy[c] - static_cast<T>(dot));
  }
}

// dx = dy - softmax·Σ dy of each row, with y = log softmax.
template <typename T>
void log_softmax_backward(const T* softmax, const T* dy, T* dx, Rows rows) {
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const std::int64_t at = r * rows.width;
    const T sum = static_cast<T>(sum_of(dy + at, rows.width));
    for (std::int64_t c = at; c < at + rows.width; ++c) dx[c] = dy[c] - softmax[c] * sum;
  }
}

void check_targets(const Variable& x, const Tensor& targets, const char* where) {
  if (targets.shape() != x.shape()) throw ShapeMismatch(std::string(where) + ": targets", x.shape(), targets.shape());
  if (targets.dtype() != x.dtype()) {
    throw DtypeError(std::string(where) + ": expected targets of " + std::string(name_of(x.dtype())) + ", got " +
                     std::string(name_of(targets.dtype())));
  }
  if (x.size() == 0) throw InvalidShape(std::string(where) + ": no elements in " + to_string(x.shape()));
}

struct LossAndSlope {
  double loss, slope;
};

// The node of a loss whose derivatives with respect to x are known already.
Variable record_loss(const Tensor& loss, const Variable& x, const Variable& slopes) {
  return x.tape().record(loss, {x}, [x, slopes](Gradients& gradients) {
    const double factor = gradients.output().item();
    gradients.add(x, [&](const Tensor& out) { affine(slopes.value(), factor, 0, out); });
  });
}

// The mean of f(x, target) over all elements; the derivatives are computed on the way.
template <typename F>
Variable mean_loss(const Variable& x, const Tensor& targets, const char* where, F f) {
  check_targets(x, targets, where);
  Tape& tape = x.tape();
  const Tensor loss = tape.allocate({}, x.dtype());
  const Variable slopes = tape.constant(tape.allocate(x.shape(), x.dtype()));
  visit_floating(x.dtype(), where, [&](auto type) {
    using T = decltype(type);
    const auto values = x.value().values<T>(), wanted = targets.values<T>();
    const auto slope = slopes.value().mutable_values<T>();
    const double count = static_cast<double>(values.size());
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto [value, derivative] = f(static_cast<double>(values[i]), static_cast<double>(wanted[i]));
      sum += value;
      slope[i] = static_cast<T>(derivative / count);
    }
    loss.mutable_values<T>()[0] = static_cast<T>(sum / count);
  });
  return record_loss(loss, x, slopes);
}

}  // namespace

Variable softmax(const Variable& x) {
  const Rows rows = rows_of(x.shape(), "softmax");
  Tape& tape = x.tape();
  const Tensor y = tape.allocate(x.shape(), x.dtype());
  visit_floating(x.dtype(), "softmax", [&](auto type) {
    using T = decltype(type);
    T* const out = y.mutable_values<T>().data();
    subtract_largest(x.value().values<T>().data(), out, rows);
    unary(Unary::kExp, 0, y, y, nullptr);
    for (std::int64_t r = 0; r < rows.count; ++r) {
      T* const row = out + r * rows.width;
      const T factor = static_cast<T>(1 / sum_of(row, rows.width));
      for (std::int64_t c = 0; c < rows.width; ++c) row[c] *= factor;
    }
  });
  return tape.record(y, {x}, [x, rows](Gradients& gradients) {
    gradients.add_last(x, [&](const Tensor& out) {
      visit_floating(out.dtype(), "softmax", [&](auto type) {
        using T = decltype(type);
        softmax_backward(gradients.value().values<T>().data(), gradients.output().values<T>().data(),
                         out.mutable_values<T>().data(), rows);
      });
    });
  });
}

Variable log_softmax(const Variable& x) {
  const Rows rows = rows_of(x.shape(), "log_softmax");
  Tape& tape = x.tape();
  const Tensor y = tape.allocate(x.shape(), x.dtype());
  const Variable probabilities = tape.constant(tape.allocate(x.shape(), x.dtype()));
  visit_floating(x.dtype(), "log_softmax", [&](auto type) {
    using T = decltype(type);
    T* const out = y.mutable_values<T>().data();
    T* const exps = probabilities.value().mutable_values<T>().data();
    subtract_largest(x.value().values<T>().data(), out, rows);
    unary(Unary::kExp, 0, y, probabilities.value(), nullptr);
    for (std::int64_t r = 0; r < rows.count; ++r) {
      const double sum = sum_of(exps + r * rows.width, rows.width);
      const T log_sum = static_cast<T>(std::log(sum)), factor = static_cast<T>(1 / sum);
      for (std::int64_t c = r * rows.width; c < (r + 1) * rows.width; ++c) {
        out[c] -= log_sum;
        exps[c] *= factor;
      }
    }
  });
  return tape.record(y, {x}, [x, probabilities, rows](Gradients& gradients) {
    gradients.add_last(x, [&](const Tensor& out) {
      visit_floating(out.dtype(), "log_softmax", [&](auto type) {
        using T = decltype(type);
        log_softmax_backward(probabilities.value().values<T>().data(), gradients.output().values<T>().data(),
                             out.mutable_values<T>().data(), rows);
      });
    });
  });
}

Variable cross_entropy(const Variable& logits, const Tensor& targets, const CrossEntropyOptions& options) {
  const Rows rows = rows_of(logits.shape(), "cross_entropy");
  const Shape expected(logits.shape().begin(), logits.shape().end() - 1);
  if (targets.shape() != expected) throw ShapeMismatch("cross_entropy: targets", expected, targets.shape());
  const auto labels = targets.values<std::int32_t>();
  const auto ignored = options.ignore_label ? std::ranges::count(labels, *options.ignore_label) : 0;
  const auto counted = std::max<std::int64_t>(rows.count - ignored, 1);

  Tape& tape = logits.tape();
  const Tensor loss = tape.allocate({}, logits.dtype());
  const bool records = tape.records({logits});
  const Variable slopes = tape.constant(records ? tape.allocate(logits.shape(), logits.dtype()) : Tensor());
  visit_floating(logits.dtype(), "cross_entropy", [&](auto type) {
    using T = decltype(type);
    const double sum =
        softmax_cross_entropy<T>(logits.value().values<T>().data(), labels, rows.width,
                                 records ? slopes.value().mutable_values<T>().data() : nullptr,
                                 static_cast<T>(1 / static_cast<double>(counted)), tape.arena(), options);
    loss.mutable_values<T>()[0] = static_cast<T>(sum / static_cast<double>(counted));
  });
  return record_loss(loss, logits, slopes);
}

Variable binary_cross_entropy_with_logits(const Variable& logits, const Tensor& targets) {
  return mean_loss(logits, targets, "binary_cross_entropy_with_logits", [](double x, double target) {
    const double decay = std::exp(-std::abs(x));
    const double sigmoid = (x >= 0 ? 1.0 : decay) / (1 + decay);
    return LossAndSlope{std::max(x, 0.0) - x * target + std::log1p(decay), sigmoid - target};
  });
}

Variable mean_squared_error(const Variable& x, const Tensor& targets) {
  return mean_loss(x, targets, "mean_squared_error", [](double value, double target) {
    const double difference = value - target;
    return LossAndSlope{difference * difference, 2 * difference};
  });
}

Variable huber(const Variable& x, const Tensor& targets, double delta) {
  if (!(delta > 0)) throw InvalidShape("huber: expected delta > 0, got " + std::to_string(delta));
  return mean_loss(x, targets, "huber", [delta](double value, double target) {
    const double difference = value - target;
    if (std::abs(difference) <= delta) return LossAndSlope{difference * difference / 2, difference};
    return LossAndSlope{delta * (std::abs(difference) - delta / 2), std::copysign(delta, difference)};
  });
}

}  // namespace viva::autograd
