// The model that a recipe describes, for the data that it is given.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/recipe.h"
#include "viva/nn/model.h"

namespace viva::cli {

struct NamedModel {
  std::string name;  // with its sizes, for people
  nn::Model model;
};

// For samples of this shape and so many classes (tokens of a vocabulary, for a text). ConfigError where the recipe's
// model cannot take such samples.
NamedModel make_model(const ModelRecipe& recipe, const Shape& sample, std::int64_t classes);

// Names and shapes must be the model's, in any order; returns them in the model's order. IoError names `path` and the
// parameter.
std::vector<Param> params_of_model(const nn::Model& model, std::vector<Param> params, const std::string& path);

// The same for a file of parameters; IoError.
std::vector<Param> load_params(const nn::Model& model, const std::string& path);

}  // namespace viva::cli
