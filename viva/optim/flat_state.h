// FlatState: parameters and moments in flat buffers, and the update of a range of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "viva/optim/layout.h"
#include "viva/optim/optimizer.h"
#include "viva/optim/update.h"

namespace viva::optim {

// Threads may update disjoint ranges at once, as long as nobody else reads or writes the state meanwhile.
class FlatState {
 public:
  // Copies the parameters and the optimizer's state. DimensionError, ShapeMismatch or DtypeError where that state does
  // not fit the parameters; ConfigError for a group's pattern that none of them matches. `memory` is where the
  // parameters lie; moments are always private.
  FlatState(const Optimizer& optimizer, std::span<const Param> params, Memory memory = Memory::kPrivate);

  const Layout& layout() const { return layout_; }
  // Views of the flat buffer: they change with it.
  std::span<const Param> params() const { return params_; }
  // That buffer.
  const Tensor& values() const { return values_; }

  bool is_buffer(std::size_t entry) const { return layout_.entries()[entry].role == ParamRole::kBuffer; }
  // Whether the entry is a parameter that is never updated.
  bool frozen(std::size_t entry) const { return settings_[entry].frozen; }

  // The factors of the entry's next update, with its learning rate times `lr_factor`.
  template <typename T>
  UpdateFactors<T> next_factors(std::size_t entry, double lr_factor = 1) const {
    Hyperparameters own = rule_.settings();
    own.lr = settings_[entry].lr * lr_factor;
    own.weight_decay = settings_[entry].weight_decay;
    return make_factors<T>(rule_.kind(), own, steps_[entry] + 1);
  }
  // Updates `range`, which lies within one entry and its padding; `gradient` points at the range's first element.
  template <typename T>
  void update(const UpdateFactors<T>& factors, Range range, const GradientSum<T>& gradient) const;
  // The same for a buffer: value + momentum * (statistic - value).
  template <typename T>
  void update_buffer(T momentum, Range range, const GradientSum<T>& statistic) const;
  // One more update of the whole entry is complete.
  void count_update(std::size_t entry) { ++steps_[entry]; }

  // An optimizer with copies of the moments.
  Optimizer optimizer() const;
  std::vector<Param> copy_params() const;

 private:
  Layout layout_;
  Optimizer rule_;                       // without state
  std::vector<ParamSettings> settings_;  // of each entry
  Tensor values_;
  std::vector<Param> params_;
  std::vector<Tensor> moments_;
  std::vector<std::int64_t> steps_;  // updates of each entry
};

}  // namespace viva::optim
