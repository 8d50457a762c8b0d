// ParamGroup: settings of some parameters only; and what holds for each parameter in the end.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "viva/optim/param.h"

namespace viva::optim {

class Optimizer;

// The first group with a pattern that matches a parameter's name decides for it; what the group leaves open is the
// optimizer's.
struct ParamGroup {
  // Names; '*' stands for any run of characters, none included: "*.bias", "layers.0.*".
  std::vector<std::string> params = {};
  std::optional<double> lr = {};
  std::optional<double> weight_decay = {};  // adamw; counts for parameters with one axis, too
  // A frozen parameter is never updated, nor are its moments; guards and norms of gradients leave it out.
  bool frozen = false;
};

bool matches(std::string_view pattern, std::string_view name);

// What holds for one parameter.
struct ParamSettings {
  double lr = 0;
  double weight_decay = 0;
  bool frozen = false;
};

// One for each of the parameters, in their order; groups pass over buffers. ConfigError (key "optimizer.groups") for a
// pattern that no trained parameter matches.
std::vector<ParamSettings> settings_of(const Optimizer& optimizer, std::span<const Param> params);

}  // namespace viva::optim
