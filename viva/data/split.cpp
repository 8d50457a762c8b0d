#include "viva/data/split.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "viva/data/shuffle.h"

namespace viva::data {

std::int64_t validation_count(std::int64_t size, double validation_fraction) {
  const auto fail = [](const std::string& message) { throw ConfigError({}, 0, "validation_fraction", message); };
  // Written so that NaN fails too.
  if (!(validation_fraction > 0 && validation_fraction < 1)) {
    fail(fmt::format("expected a number between 0 and 1, found {}", validation_fraction));
  }
  const auto count = static_cast<std::int64_t>(std::floor(static_cast<double>(size) * validation_fraction + 0.5));
  if (count < 1 || count >= size) {
    fail(fmt::format("{} of {} leaves nothing for {}", validation_fraction, size,
                     count < 1 ? "validation" : "training"));
  }
  return count;
}

Split split(const Dataset& dataset, double validation_fraction, const SplitOptions& options) {
  const std::int64_t train_count = dataset.size() - validation_count(dataset.size(), validation_fraction);
  std::vector<std::int64_t> order(static_cast<std::size_t>(dataset.size()));
  if (options.shuffle) {
    fill_shuffled(RandomStream(options.seed, RandomPurpose::kSplit, 0), order);
  } else {
    std::iota(order.begin(), order.end(), std::int64_t{0});
  }
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(train_count);
  return {dataset.subset({order.begin(), middle}), dataset.subset({middle, order.end()})};
}

}  // namespace viva::data
