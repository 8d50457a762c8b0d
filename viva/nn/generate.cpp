#include "viva/nn/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "viva/base/error.h"
#include "viva/nn/classifier.h"
#include "viva/tensor/kernel_scope.h"
#include "viva/tensor/random.h"

namespace viva::nn {
namespace {

// One token by its logits; `chance` is uniform in [0, 1).
std::int32_t draw(std::span<const float> logits, const GenerateOptions& options, double chance) {
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::int32_t a, std::int32_t b) {
    return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
  });
  if (options.temperature == 0) return order.front();
  if (options.most_likely > 0 && options.most_likely < std::ssize(order)) {
    order.resize(static_cast<std::size_t>(options.most_likely));
  }
  const double largest = static_cast<double>(logits[static_cast<std::size_t>(order.front())]);
  std::vector<double> weights;
  for (const std::int32_t token : order) {
    const double logit = static_cast<double>(logits[static_cast<std::size_t>(token)]);
    weights.push_back(std::exp((logit - largest) / options.temperature));
  }
  double left = chance * std::accumulate(weights.begin(), weights.end(), 0.0);
  std::size_t i = 0;
  while (i + 1 < weights.size() && left >= weights[i]) left -= weights[i++];
  return order[i];
}

}  // namespace

std::vector<std::int32_t> generate(const Model& model, std::span<const Param> params,
                                   std::span<const std::int32_t> prompt, const GenerateOptions& options) {
  if (prompt.empty()) throw DimensionError("generate: expected a prompt of at least one token");
  if (!(std::isfinite(options.temperature) && options.temperature >= 0)) {
    throw ConfigError({}, 0, "temperature", fmt::format("expected a number >= 0, got {}", options.temperature));
  }
  const KernelScope scope;
  const RandomStream random(options.seed, RandomPurpose::kSample, 0);
  std::vector<std::int32_t> tokens(prompt.begin(), prompt.end());
  Arena arena;
  for (std::int64_t i = 0; i < options.count; ++i) {
    arena.reset();
    const auto length = static_cast<std::ptrdiff_t>(std::min<std::int64_t>(std::ssize(tokens), options.context));
    const Tensor window = Tensor::from_values(std::vector<std::int32_t>(tokens.end() - length, tokens.end()));
    const Tensor logits = outputs(model, params, window.reshape({1, length}), arena);
    const Tensor all = logits.to(Dtype::kFloat32);
    const auto row = all.values<float>().last(static_cast<std::size_t>(logits.shape().back()));
    tokens.push_back(draw(row, options, random.uniform(static_cast<std::uint64_t>(i))));
  }
  tokens.erase(tokens.begin(), tokens.begin() + std::ssize(prompt));
  return tokens;
}

}  // namespace viva::nn
