// A linear regression with an exact gradient: the small model of these tests.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "viva/data/dataloader.h"
#include "viva/distributed/compute_grads.h"
#include "viva/distributed/train.h"
#include "viva/tensor/random.h"

namespace viva::test {

// Values in [-1, 1), a pure function of (seed, element).
template <typename T>
Tensor random_tensor(std::uint64_t seed, Shape shape) {
  const RandomStream random(seed, RandomPurpose::kInitialize, 0);
  Tensor tensor = Tensor::zeros(std::move(shape), dtype_of<T>);
  std::uint64_t element = 0;
  for (T& x : tensor.mutable_values<T>()) x = static_cast<T>(2 * random.uniform(element++) - 1);
  return tensor;
}

template <typename T>
data::Dataset random_dataset(std::int64_t samples, std::int64_t features) {
  return data::Dataset::from_tensors(random_tensor<T>(11, {samples, features}), random_tensor<T>(12, {samples}));
}

template <typename T>
std::vector<Param> random_params(std::int64_t features) {
  return {{"w", random_tensor<T>(13, {features})}, {"b", random_tensor<T>(14, {1})}};
}

// Those, and a buffer of as many features.
template <typename T>
std::vector<Param> params_with_buffer(std::int64_t features) {
  std::vector<Param> params = random_params<T>(features);
  params.push_back({"mean", random_tensor<T>(15, {features}), ParamRole::kBuffer});
  return params;
}

// The mean over the batch of (w·x + b - y)², and its gradient for "w" (features) and "b" (1).
template <typename T>
double squared_error(const StepContext&, const data::Batch& batch, std::span<const Param> params, GradSink& sink) {
  const auto w = params[0].value.values<T>();
  const T b = params[1].value.values<T>()[0];
  const auto x = batch.inputs.values<T>(), y = batch.targets.values<T>();
  const auto w_grad = sink.grad(0).template mutable_values<T>();
  T& b_grad = sink.grad(1).template mutable_values<T>()[0];
  for (T& g : w_grad) g = 0;
  b_grad = 0;
  const T n = static_cast<T>(batch.size());
  T loss = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto row = x.subspan(i * w.size(), w.size());
    T error = b - y[i];
    for (std::size_t k = 0; k < w.size(); ++k) error += w[k] * row[k];
    loss += error * error / n;
    for (std::size_t k = 0; k < w.size(); ++k) w_grad[k] += 2 * error * row[k] / n;
    b_grad += 2 * error / n;
  }
  return static_cast<double>(loss);
}

// squared_error, and the mean of the batch's inputs as the statistic of the buffer "mean".
template <typename T>
double tracked_error(const StepContext& context, const data::Batch& batch, std::span<const Param> params,
                     GradSink& sink) {
  const auto mean = sink.grad(2).template mutable_values<T>();
  const auto x = batch.inputs.values<T>();
  for (std::size_t k = 0; k < mean.size(); ++k) {
    T sum = 0;
    for (std::size_t i = k; i < x.size(); i += mean.size()) sum += x[i];
    mean[k] = sum / static_cast<T>(batch.size());
  }
  return squared_error<T>(context, batch, params, sink);
}

// squared_error through the simple form of a callback.
template <typename T>
distributed::LossAndGrads squared_error_simple(const data::Batch& batch, std::span<const Param> params) {
  const optim::Layout layout(params);
  const Tensor buffer = layout.make_buffer();
  GradSink sink(layout, buffer);
  Arena arena;
  const StepContext context{.arena = arena};
  const double loss = squared_error<T>(context, batch, params, sink);
  // In another order than the parameters', which must not matter.
  return {loss, {{"b", layout.view(buffer, 1)}, {"w", layout.view(buffer, 0)}}};
}

inline bool same_bits(std::span<const Param> a, std::span<const Param> b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].name != b[i].name || a[i].role != b[i].role || !bitwise_equal(a[i].value, b[i].value)) return false;
  }
  return true;
}

inline bool same_bits(const optim::Optimizer& a, const optim::Optimizer& b) {
  if (a.kind() != b.kind() || a.state().size() != b.state().size()) return false;
  for (const auto& [name, state] : a.state()) {
    const auto other = b.state().find(name);
    if (other == b.state().end() || other->second.steps != state.steps) return false;
    if (other->second.moments.size() != state.moments.size()) return false;
    for (std::size_t m = 0; m < state.moments.size(); ++m) {
      if (!bitwise_equal(state.moments[m], other->second.moments[m])) return false;
    }
  }
  return true;
}

inline bool same_bits(const distributed::TrainResult& a, const distributed::TrainResult& b) {
  return same_bits(a.final_params, b.final_params) && same_bits(a.final_optimizer, b.final_optimizer) &&
         a.total_loss == b.total_loss && a.last_loss == b.last_loss && a.steps == b.steps && a.batches == b.batches &&
         a.samples == b.samples && a.skipped == b.skipped;
}

}  // namespace viva::test
