#include "cli/labelled_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "viva/base/error.h"
#include "viva/base/input_file.h"
#include "viva/data/csv.h"
#include "viva/data/idx.h"
#include "viva/data/npy.h"

namespace viva::cli {
namespace {

bool is_npy(const std::string& path) { return path.ends_with(".npy"); }

std::int64_t check_labels(std::span<const std::int32_t> labels, const std::string& path, std::int64_t classes,
                          std::string_view advice) {
  if (labels.empty()) throw IoError(path, -1, "expected at least one label, found none");
  const auto bad = std::ranges::find_if(labels, [classes](std::int32_t y) { return y < 0 || y >= classes; });
  if (bad != labels.end()) {
    throw IoError(path, -1,
                  fmt::format("expected labels from 0 to {}, found {} at index {}{}", classes - 1, *bad,
                              bad - labels.begin(), advice));
  }
  return *std::ranges::max_element(labels);
}

Tensor read_labels(const std::string& path) {
  const Tensor stored = read_array(path);
  if (is_floating(stored.dtype())) {
    throw IoError(path, -1, fmt::format("expected whole numbers as labels, found {}", name_of(stored.dtype())));
  }
  return stored.to(Dtype::kInt32);
}

}  // namespace

Tensor read_array(const std::string& path) { return is_npy(path) ? data::read_npy(path) : data::read_idx(path); }

std::int64_t largest_label(const std::string& labels_path, std::int64_t classes, std::string_view advice) {
  return check_labels(read_labels(labels_path).values<std::int32_t>(), labels_path, classes, advice);
}

std::int64_t largest_target(const data::Dataset& dataset, const std::string& path, std::int64_t classes,
                            std::string_view advice) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(dataset.size()));
  std::iota(all.begin(), all.end(), 0);
  const data::Batch batch = dataset.make_batch(dataset.size());
  dataset.gather(all, batch);
  return check_labels(batch.targets.values<std::int32_t>(), path, classes, advice);
}

data::Scaling scaling_of(const ImageData& recipe) {
  return {.scale = recipe.scale / recipe.deviation, .shift = recipe.mean / recipe.scale};
}

data::Dataset load_images(const ImageFiles& files, const ImageData& recipe) {
  if (!is_npy(files.images) && !is_npy(files.labels)) {
    return data::load_idx_dataset(files.images, files.labels, {.scaling = scaling_of(recipe)});
  }
  const Tensor images = read_array(files.images), labels = read_labels(files.labels);
  if (images.rank() == 0 || images.length() == 0) throw IoError(files.images, -1, "expected images, found none");
  if (labels.rank() != 1 || labels.length() != images.length()) {
    throw IoError(files.labels, -1,
                  fmt::format("expected {} labels in one axis, as many as the images in {}, found shape {}",
                              images.length(), files.images, to_string(labels.shape())));
  }
  return data::Dataset::from_tensors(images, labels, scaling_of(recipe));
}

data::Dataset load_csv(const std::string& path, const CsvData& recipe) {
  data::CsvDatasetOptions options;
  if (!recipe.target_column.empty()) options.target_column = recipe.target_column;
  return data::load_csv_dataset(path, options);
}

}  // namespace viva::cli
