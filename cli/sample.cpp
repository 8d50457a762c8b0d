#include <variant>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/problem.h"
#include "viva/base/error.h"
#include "viva/nn/generate.h"

namespace viva::cli {

void sample(const SampleCommand& command) {
  const Recipe recipe = load_recipe(command.recipe, command.overrides);
  const data::Vocabulary vocabulary = vocabulary_of(recipe);
  const auto& gpt = std::get<GptRecipe>(recipe.model.kind);
  const NamedModel model = make_model(recipe.model, {gpt.context}, vocabulary.size());
  const std::vector<Param> params = load_params(model.model, command.params);
  if (command.prompt.empty()) throw ConfigError({}, 0, "--prompt", "expected at least one character");
  std::vector<std::int32_t> prompt;
  try {
    prompt = vocabulary.encode(command.prompt);
  } catch (const DimensionError& error) {
    throw ConfigError({}, 0, "--prompt", error.what());
  }
  const nn::GenerateOptions options{.count = command.length,
                                    .context = gpt.context,
                                    .temperature = command.temperature,
                                    .most_likely = command.top,
                                    .seed = command.seed};
  const std::vector<std::int32_t> tokens = nn::generate(model.model, params, prompt, options);
  const bool visible = command.prompt != "\n";
  print_results((visible ? command.prompt : "") + vocabulary.decode(tokens) + "\n");
}

}  // namespace viva::cli
