// Layout: how named tensors lie in one flat buffer. Params, gradients and optimizer state share it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "viva/base/shared_mapping.h"
#include "viva/optim/param.h"

namespace viva::optim {

// Owned ranges begin and end at multiples of this many elements, or at the buffer's end.
inline constexpr std::int64_t kChunk = 4096;

// A half-open range of elements of a flat buffer.
struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};

struct LayoutEntry {
  std::string name;
  Shape shape;
  ParamRole role = ParamRole::kTrained;
  std::int64_t offset = 0;  // in elements; a multiple of 64 bytes
  std::int64_t size = 0;    // in elements, without padding
  std::int64_t end = 0;     // where the next entry begins: offset + size + padding
};

// Entries in the parameters' order, each beginning on a 64-byte boundary. The padding between them is zero in every
// buffer. Immutable; thread-safe.
class Layout {
 public:
  // One floating dtype for all (DtypeError), every name once and not empty (DimensionError).
  explicit Layout(std::span<const Param> params);

  Dtype dtype() const { return dtype_; }
  // Elements of a flat buffer, padding included.
  std::int64_t size() const { return size_; }
  const std::vector<LayoutEntry>& entries() const { return entries_; }
  // The entry's index, or -1.
  std::int64_t find(std::string_view name) const;

  // The first entry that reaches into `range`; as many as there are entries where none does.
  std::size_t first_entry(Range range) const;

  // A zeroed flat buffer: shape [size()].
  Tensor make_buffer(Memory memory = Memory::kPrivate) const;
  // The entry's tensor within `buffer`, sharing its elements.
  Tensor view(const Tensor& buffer, std::size_t entry) const;
  std::vector<Param> param_views(const Tensor& buffer) const;

  // Range `part` of `parts` nearly equal ones on chunk boundaries; they cover 0 … size() without overlap.
  Range part(std::int64_t part, std::int64_t parts) const;

 private:
  Dtype dtype_ = Dtype::kFloat32;
  std::int64_t size_ = 0;
  std::vector<LayoutEntry> entries_;
  std::vector<std::pair<std::string, std::int64_t>> index_;  // sorted by name
};

}  // namespace viva::optim
