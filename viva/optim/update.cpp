#include "viva/optim/update.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "viva/optim/update.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each instruction set

#include <hwy/cache_control.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace viva::optim::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using Line = hn::CappedTag<T, 64 / sizeof(T)>;
template <typename T>
using Lanes = hn::Vec<Line<T>>;

// The rules: each takes the parameter p and the gradient g of some lanes, moves its moments on, and returns the new p.
// They are those of DESIGN's section on update rules; docs/algorithms.md has them as formulas.

template <typename T>
struct Sgd {
  Lanes<T> lr;
  explicit Sgd(const UpdateFactors<T>& f) : lr(hn::Set(Line<T>(), f.lr)) {}
  Lanes<T> operator()(Lanes<T> p, Lanes<T> g, const UpdateTarget<T>&, size_t) const {
    return hn::Sub(p, hn::Mul(lr, g));
  }
};

template <typename T>
struct SgdMomentum {
  Lanes<T> lr, momentum;
  explicit SgdMomentum(const UpdateFactors<T>& f)
      : lr(hn::Set(Line<T>(), f.lr)), momentum(hn::Set(Line<T>(), f.decay0)) {}
  Lanes<T> operator()(Lanes<T> p, Lanes<T> g, const UpdateTarget<T>& target, size_t i) const {
    const Line<T> d;
    const auto v = hn::Add(hn::Mul(momentum, hn::Load(d, target.moment0 + i)), g);
    hn::Store(v, d, target.moment0 + i);
    return hn::Sub(p, hn::Mul(lr, v));
  }
};

template <typename T>
struct Rmsprop {
  Lanes<T> lr, alpha, rest, eps;
  explicit Rmsprop(const UpdateFactors<T>& f)
      : lr(hn::Set(Line<T>(), f.lr)),
        alpha(hn::Set(Line<T>(), f.decay0)),
        rest(hn::Set(Line<T>(), f.rest0)),
        eps(hn::Set(Line<T>(), f.eps)) {}
  Lanes<T> operator()(Lanes<T> p, Lanes<T> g, const UpdateTarget<T>& target, size_t i) const {
    const Line<T> d;
    const auto s = hn::Add(hn::Mul(alpha, hn::Load(d, target.moment0 + i)), hn::Mul(rest, hn::Mul(g, g)));
    hn::Store(s, d, target.moment0 + i);
    return hn::Sub(p, hn::Div(hn::Mul(lr, g), hn::Add(hn::Sqrt(s), eps)));
  }
};

// Adam and, with shrink > 0, AdamW.
template <typename T>
struct Adam {
  Lanes<T> lr, beta1, rest1, beta2, rest2, root_scale, eps, shrink;
  explicit Adam(const UpdateFactors<T>& f)
      : lr(hn::Set(Line<T>(), f.lr)),
        beta1(hn::Set(Line<T>(), f.decay0)),
        rest1(hn::Set(Line<T>(), f.rest0)),
        beta2(hn::Set(Line<T>(), f.decay1)),
        rest2(hn::Set(Line<T>(), f.rest1)),
        root_scale(hn::Set(Line<T>(), f.root_scale)),
        eps(hn::Set(Line<T>(), f.eps)),
        shrink(hn::Set(Line<T>(), f.shrink)) {}
  Lanes<T> operator()(Lanes<T> p, Lanes<T> g, const UpdateTarget<T>& target, size_t i) const {
    const Line<T> d;
    const auto m = hn::Add(hn::Mul(beta1, hn::Load(d, target.moment0 + i)), hn::Mul(rest1, g));
    const auto v = hn::Add(hn::Mul(beta2, hn::Load(d, target.moment1 + i)), hn::Mul(rest2, hn::Mul(g, g)));
    hn::Store(m, d, target.moment0 + i);
    hn::Store(v, d, target.moment1 + i);
    const auto root = hn::Add(hn::Mul(hn::Sqrt(v), root_scale), eps);
    const auto decayed = hn::Sub(p, hn::Mul(shrink, p));
    return hn::Sub(decayed, hn::Div(hn::Mul(lr, m), root));
  }
};

// Calls use(i, lanes of the gradient from element i on).
template <typename T, typename Use>
HWY_INLINE void for_gradient(const GradientSum<T>& gradient, size_t count, const Use& use) {
  const Line<T> d;
  const auto scale = hn::Set(d, gradient.scale);
  const auto left_weight = hn::Set(d, gradient.left.weight), right_weight = hn::Set(d, gradient.right.weight);
  if (gradient.right.values == nullptr) {
    for (size_t i = 0; i < count; i += hn::Lanes(d)) {
      const auto left = hn::Mul(left_weight, hn::Load(d, gradient.left.values + i));
      use(i, hn::Mul(scale, left));
    }
  } else {
    for (size_t i = 0; i < count; i += hn::Lanes(d)) {
      const auto left = hn::Mul(left_weight, hn::Load(d, gradient.left.values + i));
      const auto right = hn::Mul(right_weight, hn::Load(d, gradient.right.values + i));
      use(i, hn::Mul(scale, hn::Add(left, right)));
    }
  }
}

// A streaming store leaves the new parameters in memory, where a core that is far from this one reads them sooner than
// from this one's cache. It pays where one instruction writes a whole cache line; halves of a line have to meet in a
// write-combining buffer, which made the pass 2.5 times slower on Zen 3.
template <typename T>
HWY_INLINE void store_param(Lanes<T> param, T* to) {
  const Line<T> d;
  if constexpr (hn::MaxLanes(Line<T>()) * sizeof(T) == 64) {
    hn::Stream(param, d, to);
  } else {
    hn::Store(param, d, to);
  }
}

template <typename T, typename Rule>
void update_with(const Rule& rule, const GradientSum<T>& gradient, const UpdateTarget<T>& target, size_t count) {
  const Line<T> d;
  for_gradient(gradient, count, [&](size_t i, Lanes<T> g) HWY_ATTR {
    store_param(rule(hn::Load(d, target.param + i), g, target, i), target.param + i);
  });
  // Streaming stores are weakly ordered: whoever synchronises with this thread next must see them.
  hwy::FlushStream();
}

template <typename T>
void update_impl(const UpdateFactors<T>& factors, const GradientSum<T>& gradient, const UpdateTarget<T>& target,
                 size_t count) {
  switch (factors.kind) {
    case OptimizerKind::kSgd:
      return update_with(Sgd<T>(factors), gradient, target, count);
    case OptimizerKind::kSgdMomentum:
      return update_with(SgdMomentum<T>(factors), gradient, target, count);
    case OptimizerKind::kRmsprop:
      return update_with(Rmsprop<T>(factors), gradient, target, count);
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamW:
      return update_with(Adam<T>(factors), gradient, target, count);
  }
}

template <typename T>
void store_sum_impl(T* out, const GradientSum<T>& gradient, size_t count) {
  for_gradient(gradient, count, [&](size_t i, Lanes<T> g) HWY_ATTR { hn::Store(g, Line<T>(), out + i); });
}

template <typename T>
void track_impl(T* values, T momentum, const GradientSum<T>& statistic, size_t count) {
  const Line<T> d;
  const auto part = hn::Set(d, momentum);
  for_gradient(statistic, count, [&](size_t i, Lanes<T> s) HWY_ATTR {
    const auto value = hn::Load(d, values + i);
    hn::Store(hn::Add(value, hn::Mul(part, hn::Sub(s, value))), d, values + i);
  });
}

void track_f32(float* values, float momentum, const GradientSum<float>& statistic, size_t count) {
  track_impl(values, momentum, statistic, count);
}
void track_f64(double* values, double momentum, const GradientSum<double>& statistic, size_t count) {
  track_impl(values, momentum, statistic, count);
}
void store_sum_f32(float* out, const GradientSum<float>& gradient, size_t count) {
  store_sum_impl(out, gradient, count);
}
void store_sum_f64(double* out, const GradientSum<double>& gradient, size_t count) {
  store_sum_impl(out, gradient, count);
}

void update_f32(const UpdateFactors<float>& factors, const GradientSum<float>& gradient,
                const UpdateTarget<float>& target, size_t count) {
  update_impl(factors, gradient, target, count);
}
void update_f64(const UpdateFactors<double>& factors, const GradientSum<double>& gradient,
                const UpdateTarget<double>& target, size_t count) {
  update_impl(factors, gradient, target, count);
}

}  // namespace
}  // namespace viva::optim::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace viva::optim {

HWY_EXPORT(update_f32);
HWY_EXPORT(update_f64);
HWY_EXPORT(track_f32);
HWY_EXPORT(track_f64);
HWY_EXPORT(store_sum_f32);
HWY_EXPORT(store_sum_f64);

template <>
void update_range<float>(const UpdateFactors<float>& factors, const GradientSum<float>& gradient,
                         const UpdateTarget<float>& target, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(update_f32)(factors, gradient, target, count);
}
template <>
void update_range<double>(const UpdateFactors<double>& factors, const GradientSum<double>& gradient,
                          const UpdateTarget<double>& target, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(update_f64)(factors, gradient, target, count);
}

template <>
void track_range<float>(float* values, float momentum, const GradientSum<float>& statistic, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(track_f32)(values, momentum, statistic, count);
}
template <>
void track_range<double>(double* values, double momentum, const GradientSum<double>& statistic, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(track_f64)(values, momentum, statistic, count);
}
template <>
void store_sum<float>(float* out, const GradientSum<float>& gradient, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(store_sum_f32)(out, gradient, count);
}
template <>
void store_sum<double>(double* out, const GradientSum<double>& gradient, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(store_sum_f64)(out, gradient, count);
}

template <typename T>
UpdateFactors<T> make_factors(OptimizerKind kind, const Hyperparameters& s, std::int64_t steps) {
  UpdateFactors<T> f;
  f.kind = kind;
  f.lr = static_cast<T>(s.lr);
  f.eps = static_cast<T>(s.eps);
  switch (f.kind) {
    case OptimizerKind::kSgd:
      break;
    case OptimizerKind::kSgdMomentum:
      f.decay0 = static_cast<T>(s.momentum);
      break;
    case OptimizerKind::kRmsprop:
      f.decay0 = static_cast<T>(s.alpha);
      f.rest0 = static_cast<T>(1 - s.alpha);
      break;
    case OptimizerKind::kAdamW:
      f.shrink = static_cast<T>(s.lr * s.weight_decay);
      [[fallthrough]];
    case OptimizerKind::kAdam: {
      const auto t = static_cast<double>(steps);
      f.lr = static_cast<T>(s.lr / (1 - std::pow(s.beta1, t)));
      f.decay0 = static_cast<T>(s.beta1);
      f.rest0 = static_cast<T>(1 - s.beta1);
      f.decay1 = static_cast<T>(s.beta2);
      f.rest1 = static_cast<T>(1 - s.beta2);
      f.root_scale = static_cast<T>(1 / std::sqrt(1 - std::pow(s.beta2, t)));
      break;
    }
  }
  return f;
}

template UpdateFactors<float> make_factors<float>(OptimizerKind, const Hyperparameters&, std::int64_t);
template UpdateFactors<double> make_factors<double>(OptimizerKind, const Hyperparameters&, std::int64_t);

}  // namespace viva::optim
#endif
