// Problem: the data and the model that a recipe describes, checked against each other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "cli/recipe.h"
#include "viva/data/dataset.h"
#include "viva/nn/model.h"

namespace viva::cli {

struct TrainProblem {
  std::string model_name;  // with its sizes, for people
  nn::Model model;
  data::Dataset train;
  std::optional<data::Dataset> test;
};

struct TestProblem {
  nn::Model model;
  data::Dataset test;
};

// IoError names the file (and the index of the label) where images and labels do not fit each other, the model or the
// other images, or where there are none.
TrainProblem load_train_problem(const Recipe& recipe);

// The same without the training images; ConfigError where the recipe names no test data.
TestProblem load_test_problem(const Recipe& recipe);

// Names and shapes must be the model's, in any order; returns them in the model's order. IoError names `path` and the
// parameter.
std::vector<Param> params_of_model(const nn::Model& model, std::vector<Param> params, const std::string& path);

}  // namespace viva::cli
