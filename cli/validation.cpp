#include "cli/validation.h"

#include <fmt/format.h>

namespace viva::cli {

Validation::Validation(const TrainRecipe& recipe, const Problem& problem, std::int64_t steps_per_epoch)
    : problem_(problem),
      every_(recipe.evaluate_every.value_or(steps_per_epoch)),
      patience_(recipe.patience),
      keep_best_(recipe.keep_best) {}

void Validation::look(std::int64_t steps, std::span<const Param> params) {
  if (steps == last_.steps) return;
  last_ = {steps, evaluate(problem_.model.model, params, *problem_.validation)};
  if (best_.steps >= 0 && !(last_.evaluation.loss < best_.evaluation.loss)) {
    ++looks_since_best_;
    return;
  }
  best_ = last_;
  looks_since_best_ = 0;
  if (!keep_best_) return;
  best_params_.assign(params.begin(), params.end());
  for (Param& param : best_params_) param.value = param.value.clone();
}

std::string Validation::in_words() const {
  return fmt::format("step {}: validation loss {:.4f}, accuracy {:.4f}{}", last_.steps, last_.evaluation.loss,
                     last_.evaluation.accuracy, best_.steps == last_.steps ? ", the best so far" : "");
}

}  // namespace viva::cli
