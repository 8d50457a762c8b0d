// Validation: looks at the validation data while a model trains, and remembers the best parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/evaluation.h"
#include "cli/problem.h"
#include "cli/recipe.h"

namespace viva::cli {

class Validation {
 public:
  // `steps_per_epoch` is the default between two looks. The problem has validation data and outlives this.
  Validation(const TrainRecipe& recipe, const Problem& problem, std::int64_t steps_per_epoch);

  // Whether the parameters after so many steps are looked at.
  bool due(std::int64_t steps) const { return steps % every_ == 0; }
  // Steps until the next look.
  std::int64_t until_due(std::int64_t steps) const { return every_ - steps % every_; }

  // Judges the parameters after so many steps, once; later calls for the same steps do nothing.
  void look(std::int64_t steps, std::span<const Param> params);
  // Whether the loss has not become better for as long as the recipe has patience.
  bool exhausted() const { return patience_ && looks_since_best_ >= *patience_; }

  struct Look {
    std::int64_t steps = 0;
    Evaluation evaluation;
  };
  const Look& last() const { return last_; }
  const Look& best() const { return best_; }
  // The parameters of the best look, where the recipe keeps them.
  const std::vector<Param>& best_params() const { return best_params_; }
  // What the last look found, in a line.
  std::string in_words() const;

 private:
  const Problem& problem_;
  std::int64_t every_;
  std::optional<std::int64_t> patience_;
  bool keep_best_;
  std::int64_t looks_since_best_ = 0;
  Look last_{-1, {}}, best_{-1, {}};
  std::vector<Param> best_params_;
};

}  // namespace viva::cli
