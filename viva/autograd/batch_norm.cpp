#include "viva/autograd/batch_norm.h"

#include <cmath>
#include <string>

namespace viva::autograd {
namespace {

// x as (batch, channels, area).
struct BatchNormExtents {
  std::int64_t batch = 0, channels = 0, area = 1;
  double count() const { return static_cast<double>(batch * area); }
};

// Calls f(place) for the elements of one channel, in their order.
template <typename F>
void for_channel(const BatchNormExtents& e, std::int64_t channel, F f) {
  for (std::int64_t n = 0; n < e.batch; ++n) {
    const std::int64_t begin = (n * e.channels + channel) * e.area;
    for (std::int64_t i = begin; i < begin + e.area; ++i) f(i);
  }
}

BatchNormExtents checked(const Variable& x, const Variable& weight, const Variable& bias) {
  if (x.rank() < 2) throw ShapeMismatch("batch_norm: input (n, channels, …)", {-1, -1}, x.shape());
  const Shape channels{x.shape()[1]};
  if (weight.shape() != channels) throw ShapeMismatch("batch_norm: weight", channels, weight.shape());
  if (bias.shape() != channels) throw ShapeMismatch("batch_norm: bias", channels, bias.shape());
  if (weight.dtype() != x.dtype() || bias.dtype() != x.dtype()) {
    throw DtypeError("batch_norm: expected input, weight and bias of one type, got " + std::string(name_of(x.dtype())) +
                     ", " + std::string(name_of(weight.dtype())) + " and " + std::string(name_of(bias.dtype())));
  }
  BatchNormExtents e{x.shape()[0], x.shape()[1], 1};
  for (std::size_t axis = 2; axis < x.rank(); ++axis) e.area *= x.shape()[axis];
  return e;
}

// The mean of each channel, and one over its deviation.
template <typename T>
struct Normal {
  const T *mean, *scale;
};

template <typename T>
Normal<T> normal_of(const Variable& statistics) {
  const T* const values = statistics.value().values<T>().data();
  return {values, values + statistics.shape()[1]};
}

template <typename T>
void normalise(const BatchNormExtents& e, const T* x, const Normal<T>& normal, const T* weight, const T* bias, T* y) {
  for (std::int64_t c = 0; c < e.channels; ++c) {
    const T mean = normal.mean[c], factor = normal.scale[c] * weight[c], offset = bias[c];
    for_channel(e, c, [&](std::int64_t i) { y[i] = (x[i] - mean) * factor + offset; });
  }
}

// With h = (x - mean)·scale: dweight = Σ dy·h, dbias = Σ dy, and dx = weight·scale·(dy - mean(dy) - h·mean(dy·h)),
// where the two means are zero for statistics that do not depend on x.
template <typename T>
void batch_norm_backward(const BatchNormExtents& e, const T* x, const Normal<T>& normal, const T* weight, const T* dy,
                         bool own, T* dx, T* dweight, T* dbias) {
  for (std::int64_t c = 0; c < e.channels; ++c) {
    const T mean = normal.mean[c], scale = normal.scale[c];
    double sum = 0, sum_h = 0;
    for_channel(e, c, [&](std::int64_t i) {
      sum += static_cast<double>(dy[i]);
      sum_h += static_cast<double>(dy[i]) * static_cast<double>((x[i] - mean) * scale);
    });
    dweight[c] = static_cast<T>(sum_h);
    dbias[c] = static_cast<T>(sum);
    const T mean_dy = own ? static_cast<T>(sum / e.count()) : T{0};
    const T mean_h = own ? static_cast<T>(sum_h / e.count()) : T{0};
    const T factor = weight[c] * scale;
    for_channel(e, c, [&](std::int64_t i) { dx[i] = factor * (dy[i] - mean_dy - (x[i] - mean) * scale * mean_h); });
  }
}

// The operation, once mean and scale are known; `own` says whether they are the batch's.
Variable record(const BatchNormExtents& e, const Variable& statistics, bool own, const Variable& x,
                const Variable& weight, const Variable& bias) {
  Tape& tape = x.tape();
  const Tensor y = tape.allocate(x.shape(), x.dtype());
  visit_floating(x.dtype(), "batch_norm", [&](auto type) {
    using T = decltype(type);
    normalise<T>(e, x.value().values<T>().data(), normal_of<T>(statistics), weight.value().values<T>().data(),
                 bias.value().values<T>().data(), y.mutable_values<T>().data());
  });
  return tape.record(y, {x, weight, bias}, [=](Gradients& gradients) {
    const auto compute = [&](const Tensor& dx, const Tensor& dweight, const Tensor& dbias) {
      visit_floating(x.dtype(), "batch_norm", [&](auto type) {
        using T = decltype(type);
        batch_norm_backward<T>(e, x.value().values<T>().data(), normal_of<T>(statistics),
                               weight.value().values<T>().data(), gradients.output().values<T>().data(), own,
                               dx.mutable_values<T>().data(), dweight.mutable_values<T>().data(),
                               dbias.mutable_values<T>().data());
      });
    };
    gradients.add_together(compute, x, weight, bias);
  });
}

}  // namespace

Variable batch_norm(const Variable& x, const Variable& weight, const Variable& bias, double eps,
                    const ChannelStatistics* statistics) {
  const BatchNormExtents e = checked(x, weight, bias);
  if (e.count() < 2) {
    throw InvalidShape("batch_norm: a batch needs at least two values in each channel, got " + to_string(x.shape()));
  }
  Tape& tape = x.tape();
  // (2, channels): means, then scales.
  const Variable normal = tape.constant(tape.allocate({2, e.channels}, x.dtype()));
  visit_floating(x.dtype(), "batch_norm", [&](auto type) {
    using T = decltype(type);
    const T* const values = x.value().values<T>().data();
    T* const mean = normal.value().mutable_values<T>().data();
    T* const scale = mean + e.channels;
    for (std::int64_t c = 0; c < e.channels; ++c) {
      double sum = 0, squares = 0;
      for_channel(e, c, [&](std::int64_t i) { sum += static_cast<double>(values[i]); });
      const double middle = sum / e.count();
      for_channel(e, c, [&](std::int64_t i) {
        const double distance = static_cast<double>(values[i]) - middle;
        squares += distance * distance;
      });
      mean[c] = static_cast<T>(middle);
      scale[c] = static_cast<T>(1 / std::sqrt(squares / e.count() + eps));
      if (statistics == nullptr) continue;
      statistics->mean.mutable_values<T>()[static_cast<std::size_t>(c)] = mean[c];
      statistics->variance.mutable_values<T>()[static_cast<std::size_t>(c)] = static_cast<T>(squares / (e.count() - 1));
    }
  });
  return record(e, normal, true, x, weight, bias);
}

Variable batch_norm_by(const ChannelStatistics& statistics, const Variable& x, const Variable& weight,
                       const Variable& bias, double eps) {
  const BatchNormExtents e = checked(x, weight, bias);
  for (const Tensor& given : {statistics.mean, statistics.variance}) {
    if (given.shape() != weight.shape()) throw ShapeMismatch("batch_norm: statistics", weight.shape(), given.shape());
  }
  Tape& tape = x.tape();
  const Variable normal = tape.constant(tape.allocate({2, e.channels}, x.dtype()));
  visit_floating(x.dtype(), "batch_norm", [&](auto type) {
    using T = decltype(type);
    T* const mean = normal.value().mutable_values<T>().data();
    for (std::int64_t c = 0; c < e.channels; ++c) {
      const auto place = static_cast<std::size_t>(c);
      mean[c] = statistics.mean.values<T>()[place];
      const double variance = static_cast<double>(statistics.variance.values<T>()[place]);
      mean[e.channels + c] = static_cast<T>(1 / std::sqrt(variance + eps));
    }
  });
  return record(e, normal, false, x, weight, bias);
}

}  // namespace viva::autograd
