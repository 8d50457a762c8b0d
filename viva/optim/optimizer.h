// Optimizers: the update rules, their settings and state, and the functional step.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "viva/optim/param.h"
#include "viva/optim/param_group.h"

namespace viva::optim {

enum class OptimizerKind { kSgd, kSgdMomentum, kRmsprop, kAdam, kAdamW };

// "sgd", "sgd_momentum", "rmsprop", "adam", "adamw".
std::string_view name_of(OptimizerKind kind);

// Which parameters the optimizer's weight_decay shrinks: all, or those with two or more axes, which leaves out biases
// and the scales of norms.
enum class DecayedParams { kAll, kMatrices };

// "all", "matrices".
std::string_view name_of(DecayedParams decayed);

// A rule reads only the settings that docs/algorithms.md names for it.
struct Hyperparameters {
  double lr = 0.01;
  double momentum = 0.9;                        // sgd_momentum
  double alpha = 0.99;                          // rmsprop
  double beta1 = 0.9;                           // adam, adamw
  double beta2 = 0.999;                         // adam, adamw
  double eps = 1e-8;                            // rmsprop, adam, adamw
  double weight_decay = 0.01;                   // adamw
  DecayedParams decayed = DecayedParams::kAll;  // adamw
};

// What a rule remembers of one parameter: its moments (none, one or two) and the number of updates it has had.
struct ParamState {
  std::vector<Tensor> moments;
  std::int64_t steps = 0;
};

// A value: copies share the moments' elements, and step() makes new ones.
class Optimizer {
 public:
  // ConfigError (key "optimizer.lr", …) for a setting that is not finite or outside its range, and for a group
  // ("optimizer.groups") that names no parameter or has a setting that the rule does not.
  Optimizer(OptimizerKind kind, const Hyperparameters& settings, std::vector<ParamGroup> groups = {});

  OptimizerKind kind() const { return kind_; }
  const Hyperparameters& settings() const { return settings_; }
  const std::vector<ParamGroup>& groups() const { return groups_; }
  // Moments a parameter: 0 (sgd), 1 (sgd_momentum, rmsprop) or 2 (adam, adamw).
  std::size_t num_moments() const;

  // By parameter name; a parameter that was never updated has no entry.
  const std::map<std::string, ParamState>& state() const { return state_; }
  void set_state(std::map<std::string, ParamState> state) { state_ = std::move(state); }

 private:
  OptimizerKind kind_;
  Hyperparameters settings_;
  std::vector<ParamGroup> groups_;
  std::map<std::string, ParamState> state_;
};

Optimizer sgd(double lr);
Optimizer sgd_momentum(double lr, double momentum = 0.9);
Optimizer rmsprop(double lr, double alpha = 0.99, double eps = 1e-8);
Optimizer adam(double lr);
Optimizer adamw(double lr, double weight_decay = 0.01);

struct StepResult {
  std::vector<Param> params;
  Optimizer optimizer;
};

// One update, as a new set of parameters in the same order and a new optimizer; the arguments are left as they are. A
// parameter without a gradient, or a frozen one, is left as it is. `lr_factor` multiplies every learning rate: a
// schedule's. Buffers are left as they are. Errors: a gradient of an unknown name, of a buffer or given twice
// (DimensionError), of another shape (ShapeMismatch)
// or dtype (DtypeError); a group's pattern that no parameter matches (ConfigError).
StepResult step(const Optimizer& optimizer, std::span<const Param> params, std::span<const GradPair> grads,
                double lr_factor = 1);

// A gradient of zeros for every parameter that is no buffer.
std::vector<GradPair> zero_grad(std::span<const Param> params);

}  // namespace viva::optim
