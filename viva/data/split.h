// A training and a validation part of one dataset.
#pragma once

#include <cstdint>

#include "viva/data/dataset.h"

namespace viva::data {

// How many of `size` things a fraction for validation takes: the nearest whole number, halves up. ConfigError unless
// the fraction lies between 0 and 1 and leaves something for either part.
std::int64_t validation_count(std::int64_t size, double validation_fraction);

struct SplitOptions {
  // Without shuffling, validation takes the last samples: right where neighbours are alike, such as in a time series.
  bool shuffle = false;
  std::uint64_t seed = 0;
};

struct Split {
  Dataset train, validation;
};

// Every sample of `dataset` is in one of the two parts, which share it with the dataset. A pure function of its
// arguments; the errors of validation_count.
Split split(const Dataset& dataset, double validation_fraction, const SplitOptions& options = {});

}  // namespace viva::data
