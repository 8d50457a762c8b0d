#include "viva/optim/param_group.h"

#include <fmt/format.h>

#include <algorithm>

#include "viva/base/error.h"
#include "viva/optim/optimizer.h"

namespace viva::optim {
namespace {

ParamSettings settings_of(const Optimizer& optimizer, const Param& param) {
  if (param.role == ParamRole::kBuffer) return {};
  const Hyperparameters& all = optimizer.settings();
  const bool decays = all.decayed == DecayedParams::kAll || param.value.rank() >= 2;
  ParamSettings settings{all.lr, decays ? all.weight_decay : 0};
  for (const ParamGroup& group : optimizer.groups()) {
    const auto fits = [&](const std::string& pattern) { return matches(pattern, param.name); };
    if (std::ranges::none_of(group.params, fits)) continue;
    return {group.lr.value_or(settings.lr), group.weight_decay.value_or(settings.weight_decay), group.frozen};
  }
  return settings;
}

}  // namespace

bool matches(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  name.remove_prefix(star);
  pattern.remove_prefix(star + 1);
  // Each piece between two stars is taken where it comes first: what is left for the others is never less than after a
  // later place.
  for (std::size_t next = pattern.find('*'); next != std::string_view::npos; next = pattern.find('*')) {
    const std::size_t place = name.find(pattern.substr(0, next));
    if (place == std::string_view::npos) return false;
    name.remove_prefix(place + next);
    pattern.remove_prefix(next + 1);
  }
  return name.ends_with(pattern);
}

std::vector<ParamSettings> settings_of(const Optimizer& optimizer, std::span<const Param> params) {
  for (std::size_t g = 0; g < optimizer.groups().size(); ++g) {
    for (const std::string& pattern : optimizer.groups()[g].params) {
      const auto fits = [&](const Param& p) { return p.role == ParamRole::kTrained && matches(pattern, p.name); };
      if (std::ranges::any_of(params, fits)) continue;
      throw ConfigError({}, 0, "optimizer.groups",
                        fmt::format("group {}: no parameter matches '{}'{}", g + 1, pattern,
                                    params.empty() ? "" : fmt::format("; the first one is '{}'", params[0].name)));
    }
  }
  std::vector<ParamSettings> settings;
  settings.reserve(params.size());
  for (const Param& param : params) settings.push_back(settings_of(optimizer, param));
  return settings;
}

}  // namespace viva::optim
