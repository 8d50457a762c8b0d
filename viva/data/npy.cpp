#include "viva/data/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "viva/data/file_bytes.h"
#include "viva/data/npy_header.h"

namespace viva::data {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are written as they stand in memory");

void check_npy_size(const NpyHeader& header, std::size_t file_size, const std::string& path) {
  const auto fail = [&path](std::size_t offset, const std::string& message) {
    throw IoError(path, static_cast<std::int64_t>(offset), message);
  };
  std::size_t count = 0;
  try {
    count = static_cast<std::size_t>(element_count(header.shape));
  } catch (const InvalidShape& error) {
    fail(0, fmt::format("the NPY header promises more than can be: {}", error.what()));
  }
  const std::size_t found = file_size - header.size, element = size_of(header.dtype);
  // Division, because count * element may overflow.
  if (count > found / element) {
    fail(file_size, fmt::format("the NPY header promises shape {} of {}, {} elements, but {} bytes follow it: the file "
                                "is cut short or its header is wrong",
                                to_string(header.shape), name_of(header.dtype), count, found));
  }
  if (count * element != found) {
    fail(header.size + count * element,
         fmt::format("{} bytes more than shape {} of {} in the NPY header needs: expected one array a file",
                     found - count * element, to_string(header.shape), name_of(header.dtype)));
  }
}

template <typename Bits>
Bits swap_bytes(Bits bits) {
  if constexpr (sizeof(Bits) == 1) return bits;
  if constexpr (sizeof(Bits) == 2) return __builtin_bswap16(bits);
  if constexpr (sizeof(Bits) == 4) return __builtin_bswap32(bits);
  if constexpr (sizeof(Bits) == 8) return __builtin_bswap64(bits);
}

template <typename Bits>
void copy_element(const std::byte* from, std::byte* to, bool swap) {
  Bits bits;
  std::memcpy(&bits, from, sizeof(Bits));
  if (swap) bits = swap_bytes(bits);
  std::memcpy(to, &bits, sizeof(Bits));
}

// Writes the elements in C order. `index` counts like an odometer, the last axis fastest, and `place` follows it in the
// file, where in Fortran order the first axis is the fastest.
template <typename Bits>
void copy_elements(const NpyHeader& header, std::span<const std::byte> from, std::byte* to) {
  const std::size_t count = from.size() / sizeof(Bits), rank = header.shape.size();
  if (!header.fortran_order || rank < 2) {
    for (std::size_t i = 0; i < count; ++i) {
      copy_element<Bits>(from.data() + i * sizeof(Bits), to + i * sizeof(Bits), header.big_endian);
    }
    return;
  }
  std::vector<std::size_t> lengths(rank), strides(rank), index(rank, 0);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    lengths[axis] = static_cast<std::size_t>(header.shape[axis]);
    strides[axis] = axis == 0 ? 1 : strides[axis - 1] * lengths[axis - 1];
  }
  std::size_t place = 0;
  for (std::size_t i = 0; i < count; ++i) {
    copy_element<Bits>(from.data() + place * sizeof(Bits), to + i * sizeof(Bits), header.big_endian);
    for (std::size_t axis = rank; axis-- > 0;) {
      place += strides[axis];
      if (++index[axis] < lengths[axis]) break;
      place -= strides[axis] * lengths[axis];
      index[axis] = 0;
    }
  }
}

// `owner` keeps the bytes, or is null where the caller does.
Tensor parse_elements(std::span<const std::byte> bytes, const SharedBytes& owner, const std::string& path) {
  NpyHeader header = parse_npy_header(bytes, path);
  check_npy_size(header, bytes.size(), path);
  const std::size_t element = size_of(header.dtype);
  const bool as_stored = (!header.big_endian || element == 1) && (!header.fortran_order || header.shape.size() < 2);
  if (owner && as_stored && header.size % kAlignment == 0) {
    // The tensor is the file's own memory, behind the header.
    return Tensor::over(owner, owner.get() + header.size, std::move(header.shape), header.dtype);
  }
  const auto elements = bytes.subspan(header.size);
  const FileBytes native = allocate_for_file(path, elements.size());
  switch (element) {
    case 1:
      copy_elements<std::uint8_t>(header, elements, native.data.get());
      break;
    case 2:
      copy_elements<std::uint16_t>(header, elements, native.data.get());
      break;
    case 4:
      copy_elements<std::uint32_t>(header, elements, native.data.get());
      break;
    default:
      copy_elements<std::uint64_t>(header, elements, native.data.get());
  }
  return Tensor::over(native.data, native.data.get(), std::move(header.shape), header.dtype);
}

}  // namespace

Tensor read_npy(const std::string& path) {
  const FileBytes file = read_file(path);
  return parse_elements(file.span(), file.data, path);
}

Tensor parse_npy(std::span<const std::byte> bytes, const std::string& path) {
  return parse_elements(bytes, nullptr, path);
}

std::vector<std::byte> npy_bytes(const Tensor& tensor) {
  if (tensor.rank() > kMostNpyAxes) {
    throw InvalidShape(fmt::format("an NPY file has at most {} axes, the tensor has {}", kMostNpyAxes, tensor.rank()));
  }
  const std::string header = make_npy_header(tensor.dtype(), tensor.shape());
  const auto before = std::as_bytes(std::span(header));
  const auto elements = tensor.bytes();
  std::vector<std::byte> bytes(before.begin(), before.end());
  bytes.insert(bytes.end(), elements.begin(), elements.end());
  return bytes;
}

}  // namespace viva::data
