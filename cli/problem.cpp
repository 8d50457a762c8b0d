#include "cli/problem.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <variant>

#include "cli/labelled_data.h"
#include "viva/base/error.h"
#include "viva/data/split.h"
#include "viva/data/text.h"

namespace viva::cli {
namespace {

// The parts of labelled data, each where the recipe names files for it.
struct LabelledFiles {
  std::string train;  // the name of the training samples in messages
  std::optional<std::string> validation, test;
};

LabelledFiles files_of(const ImageData& data) {
  const auto images = [](const std::optional<ImageFiles>& files) {
    return files ? std::optional(files->images) : std::nullopt;
  };
  return {data.train.images, images(data.validation), images(data.test)};
}

LabelledFiles files_of(const CsvData& data) { return {data.train, data.validation, data.test}; }

data::Dataset load_samples(const ImageData& data, const ImageFiles& files) { return load_images(files, data); }
data::Dataset load_samples(const CsvData& data, const std::string& file) { return load_csv(file, data); }

// The largest class of a part, which must be one of the model's.
std::int64_t largest_class(const ImageFiles& files, const data::Dataset&, std::int64_t classes,
                           std::string_view advice) {
  return largest_label(files.labels, classes, advice);
}
std::int64_t largest_class(const std::string& file, const data::Dataset& samples, std::int64_t classes,
                           std::string_view advice) {
  return largest_target(samples, file, classes, advice);
}

template <typename Source, typename Files>
data::Dataset load_part(const Source& source, const Files& files, std::int64_t classes) {
  data::Dataset samples = load_samples(source, files);
  largest_class(files, samples, classes, ", which the model has no class for");
  return samples;
}

// The recipe's number of classes, or that of the training samples.
template <typename Source>
std::int64_t classes_in(const Recipe& recipe, const Source& source, const data::Dataset& train) {
  if (recipe.model.classes) {
    largest_class(source.train, train, *recipe.model.classes, ", which is outside model.classes");
    return *recipe.model.classes;
  }
  return largest_class(source.train, train, kMaxInferredClasses, "; give model.classes where there are more") + 1;
}

void check_shape(const data::Dataset& dataset, const std::string& path, const data::Dataset& train,
                 const std::string& train_path) {
  const Shape expected = train.spec().input_shape, got = dataset.spec().input_shape;
  if (got == expected) return;
  throw IoError(
      path, -1,
      fmt::format("expected samples of shape {}, as in {}, found {}", to_string(expected), train_path, to_string(got)));
}

data::AugmentOptions augmentation_of(const ImageData& data) {
  return {.flip = data.flip, .crop_padding = data.crop_padding, .border = -data.mean / data.deviation};
}

data::AugmentOptions augmentation_of(const CsvData&) { return {}; }

template <typename Source>
Problem load_labelled(const Recipe& recipe, const Source& source) {
  const LabelledFiles names = files_of(source);
  data::Dataset train = load_samples(source, source.train);
  const std::int64_t classes = classes_in(recipe, source, train);
  std::optional<data::Dataset> validation, test;
  if (source.validation) {
    validation = load_part(source, *source.validation, classes);
    check_shape(*validation, *names.validation, train, names.train);
  }
  if (source.test) {
    test = load_part(source, *source.test, classes);
    check_shape(*test, *names.test, train, names.train);
  }
  if (recipe.data.validation_fraction) {
    data::Split parts =
        data::split(train, *recipe.data.validation_fraction, {.shuffle = true, .seed = recipe.train.seed});
    train = std::move(parts.train);
    validation = std::move(parts.validation);
  }
  NamedModel model = make_model(recipe.model, train.spec().input_shape, classes);
  return {std::move(model), std::move(train), std::move(validation), std::move(test), augmentation_of(source)};
}

// Windows of validation text do not overlap: each character is judged once.
Problem load_text_problem(const Recipe& recipe, const TextData& source) {
  const std::int64_t context = std::get<GptRecipe>(recipe.model.kind).context;
  const auto windows = [context](const data::Text& text, std::int64_t stride, const std::string& path) {
    if (text.tokens.size() <= context) {
      throw IoError(path, -1,
                    fmt::format("expected more characters than the model's context of {}, found {}", context,
                                text.tokens.size()));
    }
    return data::window_dataset(text.tokens, {.context = context, .stride = stride});
  };
  data::Text text = data::load_text(source.train);
  std::optional<data::Text> validation;
  if (!source.validation.empty()) validation = data::load_text(source.validation, text.vocabulary);
  if (recipe.data.validation_fraction) {
    data::TextSplit parts = data::split(text, *recipe.data.validation_fraction);
    text = std::move(parts.train);
    validation = std::move(parts.validation);
  }
  std::optional<data::Dataset> judged;
  if (validation)
    judged = windows(*validation, context, (source.validation.empty() ? source.train : source.validation)[0]);
  data::Dataset train = windows(text, 1, source.train[0]);
  NamedModel model = make_model(recipe.model, train.spec().input_shape, text.vocabulary.size());
  return {std::move(model), std::move(train), std::move(judged), std::nullopt, {}};
}

// Only the test data, which is all that judging needs.
template <typename Source>
JudgedProblem load_test(const Recipe& recipe, const Source& source) {
  const std::int64_t classes = classes_of(recipe);
  data::Dataset test = load_part(source, *source.test, classes);
  NamedModel model = make_model(recipe.model, test.spec().input_shape, classes);
  return {std::move(model), std::move(test), "test"};
}

}  // namespace

std::int64_t classes_of(const Recipe& recipe) {
  if (recipe.model.classes) return *recipe.model.classes;
  if (const auto* images = std::get_if<ImageData>(&recipe.data.source)) {
    return classes_in(recipe, *images, {});  // their labels say it
  }
  if (const auto* csv = std::get_if<CsvData>(&recipe.data.source)) {
    return classes_in(recipe, *csv, load_samples(*csv, csv->train));
  }
  return vocabulary_of(recipe).size();
}

data::Vocabulary vocabulary_of(const Recipe& recipe) {
  const auto* text = std::get_if<TextData>(&recipe.data.source);
  if (text == nullptr) throw ConfigError({}, 0, "data.text", "missing; only a text has characters");
  return data::load_text(text->train).vocabulary;
}

Problem load_problem(const Recipe& recipe) {
  if (const auto* images = std::get_if<ImageData>(&recipe.data.source)) return load_labelled(recipe, *images);
  if (const auto* csv = std::get_if<CsvData>(&recipe.data.source)) return load_labelled(recipe, *csv);
  return load_text_problem(recipe, std::get<TextData>(recipe.data.source));
}

JudgedProblem load_judged_problem(const Recipe& recipe) {
  if (const auto* images = std::get_if<ImageData>(&recipe.data.source); images != nullptr && images->test) {
    return load_test(recipe, *images);
  }
  if (const auto* csv = std::get_if<CsvData>(&recipe.data.source); csv != nullptr && csv->test) {
    return load_test(recipe, *csv);
  }
  Problem problem = load_problem(recipe);
  if (!problem.validation) {
    throw ConfigError({}, 0, "data", "has neither test nor validation data, which evaluation needs");
  }
  return {std::move(problem.model), *std::move(problem.validation), "validation"};
}

}  // namespace viva::cli
