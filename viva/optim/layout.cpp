#include "viva/optim/layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "viva/base/aligned_buffer.h"

namespace viva::optim {

Layout::Layout(std::span<const Param> params) {
  if (!params.empty()) dtype_ = params.front().value.dtype();
  const auto line = static_cast<std::int64_t>(kAlignment / size_of(dtype_));
  for (const Param& param : params) {
    const auto where = fmt::format("parameter '{}'", param.name);
    if (param.name.empty()) throw DimensionError(fmt::format("parameter {} has no name", entries_.size()));
    if (!is_floating(param.value.dtype()) || param.value.dtype() != dtype_) {
      throw DtypeError(fmt::format("{}: expected {}, one floating dtype for all parameters, got {}", where,
                                   is_floating(dtype_) ? name_of(dtype_) : "float32 or float64",
                                   name_of(param.value.dtype())));
    }
    LayoutEntry entry;
    entry.name = param.name;
    entry.shape = param.value.shape();
    entry.role = param.role;
    entry.offset = size_;
    entry.size = param.value.size();
    entry.end = entry.offset + (entry.size + line - 1) / line * line;
    size_ = entry.end;
    index_.emplace_back(entry.name, static_cast<std::int64_t>(entries_.size()));
    entries_.push_back(std::move(entry));
  }
  std::sort(index_.begin(), index_.end());
  const auto twin =
      std::adjacent_find(index_.begin(), index_.end(), [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twin != index_.end())
    throw DimensionError(fmt::format("two parameters are named '{}'", twin->first), twin->first);
}

std::int64_t Layout::find(std::string_view name) const {
  const auto place = std::lower_bound(index_.begin(), index_.end(), name,
                                      [](const auto& item, std::string_view wanted) { return item.first < wanted; });
  return place != index_.end() && place->first == name ? place->second : -1;
}

std::size_t Layout::first_entry(Range range) const {
  // Entries' ends ascend.
  const auto first = std::upper_bound(entries_.begin(), entries_.end(), range.begin,
                                      [](std::int64_t begin, const auto& entry) { return begin < entry.end; });
  return static_cast<std::size_t>(first - entries_.begin());
}

Tensor Layout::make_buffer(Memory memory) const {
  if (memory == Memory::kPrivate) return Tensor::zeros({size_}, dtype_);
  SharedBytes bytes = make_shared_bytes(static_cast<std::size_t>(size_) * size_of(dtype_));
  std::byte* const begin = bytes.get();
  return Tensor::over(std::move(bytes), begin, {size_}, dtype_);
}

Tensor Layout::view(const Tensor& buffer, std::size_t entry) const {
  const LayoutEntry& e = entries_.at(entry);
  return buffer.slice(e.offset, e.offset + e.size).reshape(e.shape);
}

std::vector<Param> Layout::param_views(const Tensor& buffer) const {
  std::vector<Param> params;
  params.reserve(entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i)
    params.push_back({entries_[i].name, view(buffer, i), entries_[i].role});
  return params;
}

Range Layout::part(std::int64_t part, std::int64_t parts) const {
  const std::int64_t chunks = (size_ + kChunk - 1) / kChunk;
  const auto boundary = [&](std::int64_t p) {
    // floor(chunks * p / parts) without overflow.
    const std::int64_t chunk = chunks / parts * p + chunks % parts * p / parts;
    return std::min(chunk * kChunk, size_);
  };
  return {boundary(part), boundary(part + 1)};
}

}  // namespace viva::optim
