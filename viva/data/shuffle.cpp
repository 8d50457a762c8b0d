#include "viva/data/shuffle.h"

#include <cstddef>
#include <numeric>
#include <utility>

namespace viva::data {

void fill_shuffled(const RandomStream& random, std::span<std::int64_t> order) {
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i - 1, i)]);
}

}  // namespace viva::data
