#include "viva/autograd/embedding.h"

#include <fmt/format.h>

#include <algorithm>

#include "viva/autograd/pointwise_kernels.h"

namespace viva::autograd {
namespace {

void check_indices(const Tensor& indices, std::int64_t count, std::string_view where) {
  const auto numbers = indices.values<std::int32_t>();
  const auto bad = std::ranges::find_if(numbers, [count](std::int32_t i) { return i < 0 || i >= count; });
  if (bad == numbers.end()) return;
  const std::int64_t place = bad - numbers.begin(), samples = indices.rank() == 0 ? 1 : indices.length();
  throw IndexOutOfBounds(fmt::format("{}: index of sample {}", where, place / (indices.size() / samples)), *bad, count);
}

}  // namespace

Variable embedding(const Variable& table, const Tensor& indices, std::string_view where) {
  if (table.rank() != 2) throw ShapeMismatch("embedding: table (count, width)", {-1, -1}, table.shape());
  check_indices(indices, table.shape()[0], where);
  const std::int64_t width = table.shape()[1];
  Shape shape = indices.shape();
  shape.push_back(width);
  Tape& tape = table.tape();
  const Tensor y = tape.allocate(shape, table.dtype());
  visit_floating(table.dtype(), "embedding", [&](auto type) {
    using T = decltype(type);
    const T* const rows = table.value().values<T>().data();
    T* out = y.mutable_values<T>().data();
    for (const std::int32_t i : indices.values<std::int32_t>()) out = std::copy_n(rows + i * width, width, out);
  });
  const Variable kept = tape.constant(indices);
  return tape.record(y, {table}, [table, kept, width](Gradients& gradients) {
    gradients.add(table, [&](const Tensor& out) {
      fill(out, 0);
      visit_floating(out.dtype(), "embedding", [&](auto type) {
        using T = decltype(type);
        T* const rows = out.mutable_values<T>().data();
        const T* dy = gradients.output().values<T>().data();
        for (const std::int32_t i : kept.value().values<std::int32_t>()) {
          for (std::int64_t c = 0; c < width; ++c) rows[i * width + c] += dy[c];
          dy += width;
        }
      });
    });
  });
}

}  // namespace viva::autograd
