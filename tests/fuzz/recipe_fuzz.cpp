// Any bytes as a recipe: a Recipe or a viva::Error, nothing else.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/recipe.h"
#include "viva/base/error.h"

// A text may end in lines that begin with "--set "; each is an override.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::string_view kMarker = "\n--set ";
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> overrides;
  for (std::size_t at = text.rfind(kMarker); at != std::string_view::npos; at = text.rfind(kMarker)) {
    overrides.insert(overrides.begin(), std::string(text.substr(at + kMarker.size())));
    text = text.substr(0, at);
  }
  try {
    viva::cli::parse_recipe(text, "recipe.toml", overrides);
  } catch (const viva::Error&) {
    // What most inputs are.
  }
  return 0;
}
