// [data]: where samples come from.
#include <array>
#include <cmath>
#include <filesystem>
#include <vector>

#include "cli/recipe_sections.h"

namespace viva::cli {
namespace {

constexpr IntegerRange kPadding{0, 1000};

// Reads the section's paths, which begin at the recipe's directory.
class Paths {
 public:
  Paths(const RecipeTable& table, const std::string& file) : table_(table), file_(file) {}

  std::optional<std::string> one(std::string_view key) const {
    const std::optional<std::string> path = table_.string(key);
    if (!path) return std::nullopt;
    return checked(key, *path);
  }

  // One path, or an array of some.
  std::vector<std::string> several(std::string_view key) const {
    std::vector<std::string> paths;
    for (const std::string& path : table_.strings(key)) paths.push_back(checked(key, path));
    return paths;
  }

  // Both files, or none.
  std::optional<ImageFiles> pair(const std::string& part) const {
    const std::string images_key = "data." + part + "_images", labels_key = "data." + part + "_labels";
    std::optional<std::string> images = one(images_key), labels = one(labels_key);
    if (images && !labels) table_.fail(images_key, fmt::format("given without {}", labels_key));
    if (labels && !images) table_.fail(labels_key, fmt::format("given without {}", images_key));
    if (!images) return std::nullopt;
    return ImageFiles{*std::move(images), *std::move(labels)};
  }

 private:
  std::string checked(std::string_view key, const std::string& path) const {
    if (path.empty() || path.find('\0') != std::string::npos) table_.fail(key, "expected a path");
    return (std::filesystem::path(file_).parent_path() / path).string();
  }

  const RecipeTable& table_;
  const std::string& file_;
};

double number_or(const RecipeTable& table, std::string_view key, double otherwise, bool positive) {
  const double value = table.number(key).value_or(otherwise);
  if (!std::isfinite(value) || (positive && !(value > 0))) {
    table.fail(key, fmt::format("expected a {} number, found {}", positive ? "positive" : "finite", value));
  }
  return value;
}

ImageData read_images(const RecipeTable& table, const Paths& paths) {
  constexpr std::string_view kImages = "the path of an IDX or NPY file with the training images";
  constexpr std::string_view kLabels = "the path of an IDX or NPY file with the training labels";
  ImageData data;
  data.train.images = required(table, "data.train_images", paths.one("data.train_images"), kImages);
  data.train.labels = required(table, "data.train_labels", paths.one("data.train_labels"), kLabels);
  data.validation = paths.pair("validation");
  data.test = paths.pair("test");
  data.scale = number_or(table, "data.scale", data.scale, true);
  data.mean = number_or(table, "data.mean", data.mean, false);
  data.deviation = number_or(table, "data.deviation", data.deviation, true);
  data.flip = table.boolean("data.flip").value_or(false);
  data.crop_padding = table.integer("data.crop_padding", kPadding).value_or(0);
  return data;
}

CsvData read_csv(const RecipeTable& table, const Paths& paths) {
  CsvData data;
  data.train = *paths.one("data.train_csv");
  data.validation = paths.one("data.validation_csv");
  data.test = paths.one("data.test_csv");
  data.target_column = table.string("data.target_column").value_or("");
  return data;
}

TextData read_text(const Paths& paths) { return {paths.several("data.text"), paths.several("data.validation_text")}; }

// What only one kind of data has.
struct Kind {
  std::string_view key;  // whose presence decides
  std::vector<std::string_view> keys;
};

const std::array<Kind, 3>& kinds() {
  static const std::array<Kind, 3> kKinds = {{{"data.text", {"validation_text"}},
                                              {"data.train_csv", {"validation_csv", "test_csv", "target_column"}},
                                              {"data.train_images",
                                               {"train_labels", "validation_images", "validation_labels", "test_images",
                                                "test_labels", "scale", "mean", "deviation", "flip", "crop_padding"}}}};
  return kKinds;
}

// The kind that the recipe names first; images where it names none. Keys of the other kinds are errors.
std::size_t kind_of(const RecipeTable& table) {
  std::size_t kind = 0;
  while (kind + 1 < kinds().size() && !table.has(kinds()[kind].key)) ++kind;
  for (std::size_t other = 0; other < kinds().size(); ++other) {
    if (other == kind) continue;
    std::vector<std::string> keys{std::string(kinds()[other].key)};
    for (const std::string_view key : kinds()[other].keys) keys.push_back(fmt::format("data.{}", key));
    for (const std::string& key : keys) {
      if (table.has(key))
        table.fail(key, fmt::format("given beside {}, to which it does not belong", kinds()[kind].key));
    }
  }
  return kind;
}

}  // namespace

SectionKeys data_keys() {
  SectionKeys keys{"data", {"validation_fraction"}};
  for (const Kind& kind : kinds()) {
    keys.keys.push_back(kind.key.substr(kind.key.find('.') + 1));
    keys.keys.insert(keys.keys.end(), kind.keys.begin(), kind.keys.end());
  }
  return keys;
}

DataRecipe read_data(const RecipeTable& table, const std::string& file) {
  const Paths paths(table, file);
  DataRecipe data;
  bool validation_files = false;
  switch (kind_of(table)) {
    case 0: {
      TextData text = read_text(paths);
      validation_files = !text.validation.empty();
      data.source = std::move(text);
      break;
    }
    case 1: {
      CsvData csv = read_csv(table, paths);
      validation_files = csv.validation.has_value();
      data.source = std::move(csv);
      break;
    }
    default: {
      ImageData images = read_images(table, paths);
      validation_files = images.validation.has_value();
      data.source = std::move(images);
    }
  }
  constexpr std::string_view kFraction = "data.validation_fraction";
  data.validation_fraction = table.number(kFraction);
  if (const auto f = data.validation_fraction; f && !(*f > 0 && *f < 1)) {
    table.fail(kFraction, fmt::format("expected a number between 0 and 1, found {}", *f));
  }
  if (data.validation_fraction && validation_files) {
    table.fail(kFraction, "given beside validation files; expected one of them");
  }
  return data;
}

}  // namespace viva::cli
