// [model]: what is trained.
#include <array>

#include "cli/nearest.h"
#include "cli/recipe_sections.h"

namespace viva::cli {
namespace {

constexpr std::size_t kMaxLayers = 100;
constexpr std::array<std::string_view, 3> kKinds = {"mlp", "cnn", "gpt"};
constexpr std::array<std::string_view, 2> kConvolutions = {"winograd", "direct"};

// The place of the word at `key` among `words`; an error names the nearest.
template <std::size_t N>
std::size_t place_of(const RecipeTable& table, std::string_view key, const std::array<std::string_view, N>& words,
                     const std::string& word) {
  for (std::size_t i = 0; i < N; ++i) {
    if (words[i] == word) return i;
  }
  std::string expected;
  for (const std::string_view known : words) expected += fmt::format("{}\"{}\"", expected.empty() ? "" : ", ", known);
  const std::string near = nearest(word, words);
  table.fail(key, fmt::format("expected one of {}, found \"{}\"{}", expected, word,
                              near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
}

MlpRecipe read_mlp(const RecipeTable& table) {
  MlpRecipe mlp;
  mlp.hidden = required(table, "model.hidden", table.integers("model.hidden", kWidth),
                        "the widths of the hidden layers, such as [256, 128]");
  if (mlp.hidden.size() > kMaxLayers) {
    table.fail("model.hidden", fmt::format("expected at most {} layers, found {}", kMaxLayers, mlp.hidden.size()));
  }
  return mlp;
}

CnnRecipe read_cnn(const RecipeTable& table) {
  CnnRecipe cnn;
  if (const auto word = table.string("model.convolution")) {
    const bool direct = place_of(table, "model.convolution", kConvolutions, *word) == 1;
    cnn.convolution = direct ? Conv2dAlgorithm::kDirect : Conv2dAlgorithm::kWinograd;
  }
  return cnn;
}

GptRecipe read_gpt(const RecipeTable& table) {
  GptRecipe gpt;
  gpt.context = table.integer("model.context", {1, 65'536}).value_or(gpt.context);
  gpt.layers = table.integer("model.layers", {1, 1000}).value_or(gpt.layers);
  gpt.heads = table.integer("model.heads", kWidth).value_or(gpt.heads);
  gpt.channels = table.integer("model.channels", kWidth).value_or(gpt.channels);
  gpt.dropout = table.number("model.dropout").value_or(gpt.dropout);
  if (gpt.channels % gpt.heads != 0) {
    table.fail("model.heads", fmt::format("expected a divisor of the {} channels, found {}", gpt.channels, gpt.heads));
  }
  if (!(gpt.dropout >= 0 && gpt.dropout < 1)) {
    table.fail("model.dropout", fmt::format("expected a number >= 0 and < 1, found {}", gpt.dropout));
  }
  return gpt;
}

// What only one kind of model has.
struct KindKeys {
  std::size_t kind;
  std::vector<std::string_view> keys;
};

const std::array<KindKeys, 3>& kind_keys() {
  static const std::array<KindKeys, 3> kKeys = {
      {{0, {"hidden"}}, {1, {"convolution"}}, {2, {"context", "layers", "heads", "channels", "dropout"}}}};
  return kKeys;
}

}  // namespace

SectionKeys model_keys() {
  SectionKeys keys{"model", {"kind", "classes"}};
  for (const KindKeys& kind : kind_keys()) keys.keys.insert(keys.keys.end(), kind.keys.begin(), kind.keys.end());
  return keys;
}

ModelRecipe read_model(const RecipeTable& table) {
  const auto word = required(table, "model.kind", table.string("model.kind"), "\"mlp\", \"cnn\" or \"gpt\"");
  const std::size_t kind = place_of(table, "model.kind", kKinds, word);
  for (const KindKeys& other : kind_keys()) {
    if (other.kind == kind) continue;
    for (const std::string_view name : other.keys) {
      const std::string key = fmt::format("model.{}", name);
      if (table.has(key)) table.fail(key, fmt::format("{} has no such setting, only {}", word, kKinds[other.kind]));
    }
  }
  ModelRecipe model;
  switch (kind) {
    case 0:
      model.kind = read_mlp(table);
      break;
    case 1:
      model.kind = read_cnn(table);
      break;
    default:
      model.kind = read_gpt(table);
  }
  model.classes = table.integer("model.classes", kWidth);
  const bool text = table.has("data.text");
  if (text && kind != 2) table.fail("model.kind", fmt::format("expected \"gpt\" for data.text, found \"{}\"", word));
  if (!text && kind == 2) table.fail("model.kind", "\"gpt\" learns from data.text, which is missing");
  if (text && model.classes) table.fail("model.classes", "a text has none: its vocabulary counts");
  if (table.has("data.train_csv") && kind != 0) {
    table.fail("model.kind", fmt::format("expected \"mlp\" for data.train_csv, found \"{}\"", word));
  }
  return model;
}

}  // namespace viva::cli
