#include "viva/optim/grad_sink.h"

#include <fmt/format.h>

#include <algorithm>

namespace viva {

GradSink::GradSink(const optim::Layout& layout, const Tensor& buffer)
    : layout_(&layout), given_(layout.entries().size()) {
  views_.reserve(given_.size());
  for (std::size_t i = 0; i < given_.size(); ++i) views_.push_back(layout.view(buffer, i));
}

const Tensor& GradSink::grad(std::size_t i) {
  const auto count = static_cast<std::int64_t>(views_.size());
  if (i >= views_.size()) throw IndexOutOfBounds("GradSink::grad", static_cast<std::int64_t>(i), count);
  given_[i] = 1;
  return views_[i];
}

const Tensor& GradSink::grad(std::string_view name) { return grad(index_of(name)); }

void GradSink::set(std::string_view name, const Tensor& gradient) {
  const std::size_t i = index_of(name);
  const Tensor& view = views_[i];
  const auto where = fmt::format("gradient of '{}'", name);
  if (gradient.shape() != view.shape()) throw ShapeMismatch(where, view.shape(), gradient.shape());
  if (gradient.dtype() != view.dtype()) {
    throw DtypeError(fmt::format("{}: expected {}, got {}", where, name_of(view.dtype()), name_of(gradient.dtype())));
  }
  std::ranges::copy(gradient.bytes(), view.mutable_bytes().begin());
  given_[i] = 1;
}

void GradSink::clear() {
  std::fill(given_.begin(), given_.end(), char{0});
  stop_requested_ = false;
}

std::size_t GradSink::index_of(std::string_view name) const {
  const std::int64_t i = layout_->find(name);
  if (i < 0)
    throw DimensionError(fmt::format("a gradient for '{}', but no parameter has that name", name), std::string(name));
  return static_cast<std::size_t>(i);
}

}  // namespace viva
