#include "viva/optim/optimizer.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>

#include "viva/optim/flat_state.h"
#include "viva/optim/grad_sink.h"
#include "viva/tensor/kernel_scope.h"

namespace viva::optim {
namespace {

struct KindInfo {
  std::string_view name;
  std::size_t moments;
};

// In the order of the enumeration.
constexpr std::array<KindInfo, 5> kKinds{{{"sgd", 0}, {"sgd_momentum", 1}, {"rmsprop", 1}, {"adam", 2}, {"adamw", 2}}};

void expect(bool good, std::string_view key, std::string_view range, double got) {
  if (good) return;
  throw ConfigError({}, 0, fmt::format("optimizer.{}", key), fmt::format("expected a number {}, got {}", range, got));
}

}  // namespace

std::string_view name_of(OptimizerKind kind) { return kKinds.at(static_cast<std::size_t>(kind)).name; }

std::string_view name_of(DecayedParams decayed) { return decayed == DecayedParams::kAll ? "all" : "matrices"; }

Optimizer::Optimizer(OptimizerKind kind, const Hyperparameters& settings, std::vector<ParamGroup> groups)
    : kind_(kind), settings_(settings), groups_(std::move(groups)) {
  const auto not_negative = [](double x) { return std::isfinite(x) && x >= 0; };
  // Comparisons with NaN are false.
  const auto fraction = [](double x) { return x >= 0 && x < 1; };
  expect(not_negative(settings.lr), "lr", ">= 0", settings.lr);
  expect(fraction(settings.momentum), "momentum", ">= 0 and < 1", settings.momentum);
  expect(fraction(settings.alpha), "alpha", ">= 0 and < 1", settings.alpha);
  expect(fraction(settings.beta1), "beta1", ">= 0 and < 1", settings.beta1);
  expect(fraction(settings.beta2), "beta2", ">= 0 and < 1", settings.beta2);
  // A smaller one would be zero in float32, and a zero gradient's update 0/0.
  constexpr double kSmallestEps = std::numeric_limits<float>::min();
  expect(std::isfinite(settings.eps) && settings.eps >= kSmallestEps, "eps", ">= 1.2e-38", settings.eps);
  expect(not_negative(settings.weight_decay), "weight_decay", ">= 0", settings.weight_decay);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const ParamGroup& group = groups_[g];
    const auto reject = [&](const std::string& message) {
      throw ConfigError({}, 0, "optimizer.groups", fmt::format("group {}: {}", g + 1, message));
    };
    if (group.params.empty()) reject("expected the names of its parameters, got none");
    if (group.lr && !not_negative(*group.lr)) reject(fmt::format("lr: expected a number >= 0, got {}", *group.lr));
    if (!group.weight_decay) continue;
    if (kind != OptimizerKind::kAdamW) reject(fmt::format("weight_decay: {} has none, only adamw", name_of(kind)));
    if (!not_negative(*group.weight_decay)) {
      reject(fmt::format("weight_decay: expected a number >= 0, got {}", *group.weight_decay));
    }
  }
}

std::size_t Optimizer::num_moments() const { return kKinds.at(static_cast<std::size_t>(kind_)).moments; }

Optimizer sgd(double lr) { return {OptimizerKind::kSgd, {.lr = lr}}; }

Optimizer sgd_momentum(double lr, double momentum) {
  return {OptimizerKind::kSgdMomentum, {.lr = lr, .momentum = momentum}};
}

Optimizer rmsprop(double lr, double alpha, double eps) {
  return {OptimizerKind::kRmsprop, {.lr = lr, .alpha = alpha, .eps = eps}};
}

Optimizer adam(double lr) { return {OptimizerKind::kAdam, {.lr = lr}}; }

Optimizer adamw(double lr, double weight_decay) {
  return {OptimizerKind::kAdamW, {.lr = lr, .weight_decay = weight_decay}};
}

StepResult step(const Optimizer& optimizer, std::span<const Param> params, std::span<const GradPair> grads,
                double lr_factor) {
  const KernelScope scope;
  FlatState state(optimizer, params);
  const Tensor gradient = state.layout().make_buffer();
  GradSink sink(state.layout(), gradient);
  for (const GradPair& pair : grads) {
    const std::int64_t i = state.layout().find(pair.name);
    if (i >= 0 && sink.given(static_cast<std::size_t>(i))) {
      throw DimensionError(fmt::format("two gradients for '{}'", pair.name), pair.name);
    }
    if (i >= 0 && state.is_buffer(static_cast<std::size_t>(i))) {
      throw DimensionError(fmt::format("a gradient for '{}', which is a buffer and has none", pair.name), pair.name);
    }
    sink.set(pair.name, pair.grad);
  }
  visit_floating(state.layout().dtype(), "step", [&](auto type) {
    using T = decltype(type);
    const T* values = gradient.values<T>().data();
    for (std::size_t i = 0; i < sink.size(); ++i) {
      if (!sink.given(i) || state.frozen(i)) continue;
      const LayoutEntry& entry = state.layout().entries()[i];
      state.update<T>(state.next_factors<T>(i, lr_factor), {entry.offset, entry.end},
                      {{values + entry.offset, 1}, {}, 1});
      state.count_update(i);
    }
  });
  return {state.copy_params(), state.optimizer()};
}

std::vector<GradPair> zero_grad(std::span<const Param> params) {
  std::vector<GradPair> zeros;
  zeros.reserve(params.size());
  for (const Param& p : params) {
    if (p.role == ParamRole::kBuffer) continue;
    zeros.push_back({p.name, Tensor::zeros(p.value.shape(), p.value.dtype())});
  }
  return zeros;
}

}  // namespace viva::optim
