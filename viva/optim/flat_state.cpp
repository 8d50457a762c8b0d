#include "viva/optim/flat_state.h"

#include <fmt/format.h>

#include <algorithm>

namespace viva::optim {
namespace {

void copy_elements(const Tensor& from, const Tensor& to, const std::string& where) {
  if (from.shape() != to.shape()) throw ShapeMismatch(where, to.shape(), from.shape());
  if (from.dtype() != to.dtype()) {
    throw DtypeError(fmt::format("{}: expected {}, got {}", where, name_of(to.dtype()), name_of(from.dtype())));
  }
  std::ranges::copy(from.bytes(), to.mutable_bytes().begin());
}

}  // namespace

FlatState::FlatState(const Optimizer& optimizer, std::span<const Param> params, Memory memory)
    : layout_(params),
      rule_(optimizer.kind(), optimizer.settings(), optimizer.groups()),
      settings_(settings_of(optimizer, params)),
      values_(layout_.make_buffer(memory)),
      params_(layout_.param_views(values_)),
      steps_(params.size()) {
  for (std::size_t i = 0; i < params.size(); ++i) {
    copy_elements(params[i].value, params_[i].value, fmt::format("parameter '{}'", params[i].name));
  }
  for (std::size_t m = 0; m < rule_.num_moments(); ++m) moments_.push_back(layout_.make_buffer());
  for (const auto& [name, state] : optimizer.state()) {
    const std::int64_t found = layout_.find(name);
    if (found < 0) {
      throw DimensionError(fmt::format("the optimizer has a state for '{}', but no parameter has that name", name),
                           name);
    }
    if (state.moments.size() != moments_.size()) {
      throw DimensionError(fmt::format("the optimizer's state for '{}': expected {} moments, got {}", name,
                                       moments_.size(), state.moments.size()),
                           name);
    }
    if (state.steps < 0) {
      throw DimensionError(
          fmt::format("the optimizer's state for '{}': expected steps >= 0, got {}", name, state.steps), name);
    }
    const auto entry = static_cast<std::size_t>(found);
    if (is_buffer(entry)) {
      throw DimensionError(fmt::format("the optimizer has a state for '{}', which is a buffer", name), name);
    }
    for (std::size_t m = 0; m < moments_.size(); ++m) {
      copy_elements(state.moments[m], layout_.view(moments_[m], entry), fmt::format("moment {} of '{}'", m, name));
    }
    steps_[entry] = state.steps;
  }
}

template <typename T>
void FlatState::update(const UpdateFactors<T>& factors, Range range, const GradientSum<T>& gradient) const {
  const auto at = [&](const Tensor& buffer) { return buffer.mutable_values<T>().data() + range.begin; };
  UpdateTarget<T> target{at(values_)};
  if (!moments_.empty()) target.moment0 = at(moments_[0]);
  if (moments_.size() > 1) target.moment1 = at(moments_[1]);
  update_range<T>(factors, gradient, target, static_cast<std::size_t>(range.size()));
}

template <typename T>
void FlatState::update_buffer(T momentum, Range range, const GradientSum<T>& statistic) const {
  track_range<T>(values_.mutable_values<T>().data() + range.begin, momentum, statistic,
                 static_cast<std::size_t>(range.size()));
}

template void FlatState::update_buffer<float>(float, Range, const GradientSum<float>&) const;
template void FlatState::update_buffer<double>(double, Range, const GradientSum<double>&) const;
template void FlatState::update<float>(const UpdateFactors<float>&, Range, const GradientSum<float>&) const;
template void FlatState::update<double>(const UpdateFactors<double>&, Range, const GradientSum<double>&) const;

Optimizer FlatState::optimizer() const {
  std::map<std::string, ParamState> state;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i] == 0) continue;
    ParamState& s = state[layout_.entries()[i].name];
    s.steps = steps_[i];
    for (const Tensor& moment : moments_) s.moments.push_back(layout_.view(moment, i).clone());
  }
  Optimizer copy = rule_;
  copy.set_state(std::move(state));
  return copy;
}

std::vector<Param> FlatState::copy_params() const {
  std::vector<Param> copies;
  copies.reserve(params_.size());
  for (const Param& param : params_) copies.push_back({param.name, param.value.clone(), param.role});
  return copies;
}

}  // namespace viva::optim
