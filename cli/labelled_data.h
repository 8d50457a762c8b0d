// Samples with classes, from images or CSV files, as a recipe names them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/recipe.h"
#include "viva/data/dataset.h"

namespace viva::cli {

// A label beyond this is taken for damage, unless the recipe gives the number of classes.
inline constexpr std::int64_t kMaxInferredClasses = 10'000;

// A whole IDX or NPY file, whichever it is.
Tensor read_array(const std::string& path);

// The largest label of a file, which must be one of `classes`; IoError naming file, label and index, with `advice`
// behind it, and where there is no label.
std::int64_t largest_label(const std::string& labels_path, std::int64_t classes, std::string_view advice);
// The same for the targets of a dataset that was read from `path`.
std::int64_t largest_target(const data::Dataset& dataset, const std::string& path, std::int64_t classes,
                            std::string_view advice);

// Images become floats as the recipe scales them. IoError.
data::Dataset load_images(const ImageFiles& files, const ImageData& recipe);
data::Dataset load_csv(const std::string& path, const CsvData& recipe);

// How a stored pixel becomes a float.
data::Scaling scaling_of(const ImageData& recipe);

}  // namespace viva::cli
