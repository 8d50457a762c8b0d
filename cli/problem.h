// The data that a recipe describes, checked, with the model that learns from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/model.h"
#include "cli/recipe.h"
#include "viva/data/augment.h"
#include "viva/data/dataset.h"
#include "viva/data/vocabulary.h"

namespace viva::cli {

struct Problem {
  NamedModel model;
  data::Dataset train;
  std::optional<data::Dataset> validation, test;
  data::AugmentOptions augmentation;  // of training images
};

// IoError names the file (and the index of the label) where images and labels do not fit each other, the model or the
// other images, or where there are none; ConfigError where the recipe's settings do not fit the data.
Problem load_problem(const Recipe& recipe);

struct JudgedProblem {
  NamedModel model;
  data::Dataset dataset;
  std::string part;  // "test" or "validation"
};

// The test data, or the validation data where there is none; ConfigError where the recipe has neither.
JudgedProblem load_judged_problem(const Recipe& recipe);

// How many classes the model tells apart: the recipe's, or those of the training labels.
std::int64_t classes_of(const Recipe& recipe);

// The characters of the recipe's training text. ConfigError where it has none.
data::Vocabulary vocabulary_of(const Recipe& recipe);

}  // namespace viva::cli
