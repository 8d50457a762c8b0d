#include "viva/data/idx.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

namespace viva::data {
namespace {

constexpr std::size_t kMagicBytes = 4, kAxisBytes = 4;

// An IDX file's bytes, and what an error about them needs.
struct Contents {
  std::span<const std::byte> bytes;
  SharedBytes owner;  // null where the caller keeps the bytes
  const std::string& path;
  bool unpacked = false;

  [[noreturn]] void fail(std::size_t offset, const std::string& message) const {
    throw IoError(path, static_cast<std::int64_t>(offset),
                  message + (unpacked ? " (in the bytes that the gzip file unpacks to)" : ""));
  }
};

struct Header {
  Dtype dtype;
  Shape shape;
  std::size_t size;  // bytes before the elements
};

std::optional<Dtype> dtype_of_code(std::byte code) {
  switch (std::to_integer<unsigned>(code)) {
    case 0x08:
      return Dtype::kUInt8;
    case 0x09:
      return Dtype::kInt8;
    case 0x0B:
      return Dtype::kInt16;
    case 0x0C:
      return Dtype::kInt32;
    case 0x0D:
      return Dtype::kFloat32;
    case 0x0E:
      return Dtype::kFloat64;
    default:
      return std::nullopt;
  }
}

template <typename Bits>
Bits big_endian(const std::byte* from) {
  Bits bits = 0;
  for (std::size_t i = 0; i < sizeof(Bits); ++i) {
    bits = static_cast<Bits>(bits << 8 | std::to_integer<Bits>(from[i]));
  }
  return bits;
}

// The checks are done in the order of the file, each before what follows it is believed.
Header parse_header(const Contents& contents) {
  const auto bytes = contents.bytes;
  if (bytes.size() < kMagicBytes) {
    contents.fail(0, fmt::format("expected an IDX header of at least {} bytes, found {}", kMagicBytes, bytes.size()));
  }
  const auto dtype = dtype_of_code(bytes[2]);
  if (bytes[0] != std::byte{0} || bytes[1] != std::byte{0} || !dtype) {
    contents.fail(0, fmt::format("expected the IDX magic number 00 00, type 08, 09, 0B, 0C, 0D or 0E, number of "
                                 "dimensions; found {:02X} {:02X} {:02X} {:02X}: this is no IDX file",
                                 bytes[0], bytes[1], bytes[2], bytes[3]));
  }
  const auto rank = std::to_integer<std::size_t>(bytes[3]);
  Header header{*dtype, {}, kMagicBytes + rank * kAxisBytes};
  if (bytes.size() < header.size) {
    contents.fail(bytes.size(), fmt::format("the file ends within its header: {} dimensions need {} bytes, found {}",
                                            rank, header.size, bytes.size()));
  }
  for (std::size_t axis = 0; axis < rank; ++axis) {
    header.shape.push_back(big_endian<std::uint32_t>(bytes.data() + kMagicBytes + axis * kAxisBytes));
  }
  return header;
}

void check_idx_size(const Contents& contents, const Header& header) {
  std::size_t count = 0;
  try {
    count = static_cast<std::size_t>(element_count(header.shape));
  } catch (const InvalidShape& error) {
    contents.fail(kMagicBytes, fmt::format("the header promises more than can be: {}", error.what()));
  }
  const std::size_t found = contents.bytes.size() - header.size, element = size_of(header.dtype);
  // Division, because count * element may overflow.
  if (count > found / element) {
    contents.fail(contents.bytes.size(),
                  fmt::format("the header promises shape {} of {}, {} elements, but {} bytes follow it: the file is "
                              "cut short or its header is wrong",
                              to_string(header.shape), name_of(header.dtype), count, found));
  }
  if (count * element != found) {
    contents.fail(header.size + count * element,
                  fmt::format("{} bytes more than shape {} of {} in the header needs", found - count * element,
                              to_string(header.shape), name_of(header.dtype)));
  }
}

template <typename Bits>
void copy_big_endian(std::span<const std::byte> from, std::byte* to) {
  for (std::size_t offset = 0; offset < from.size(); offset += sizeof(Bits)) {
    const Bits bits = big_endian<Bits>(from.data() + offset);
    std::memcpy(to + offset, &bits, sizeof(Bits));
  }
}

Contents unpack(const Contents& contents, std::size_t most_unpacked) {
  if (!is_gzip(contents.bytes)) return contents;
  const FileBytes unpacked = gunzip(contents.bytes, contents.path, most_unpacked);
  return {unpacked.span(), unpacked.data, contents.path, true};
}

Tensor parse_contents(const Contents& contents) {
  Header header = parse_header(contents);
  check_idx_size(contents, header);
  const auto elements = contents.bytes.subspan(header.size);
  const std::size_t element = size_of(header.dtype);
  if (element == 1 && contents.owner) {
    // Bytes have no order to change: the tensor is the file's own memory, behind the header.
    return Tensor::over(contents.owner, contents.owner.get() + header.size, std::move(header.shape), header.dtype);
  }
  const FileBytes native = allocate_for_file(contents.path, elements.size());
  switch (element) {
    case 1:
      std::copy(elements.begin(), elements.end(), native.data.get());
      break;
    case 2:
      copy_big_endian<std::uint16_t>(elements, native.data.get());
      break;
    case 4:
      copy_big_endian<std::uint32_t>(elements, native.data.get());
      break;
    default:
      copy_big_endian<std::uint64_t>(elements, native.data.get());
  }
  return Tensor::over(native.data, native.data.get(), std::move(header.shape), header.dtype);
}

}  // namespace

Tensor read_idx(const std::string& path) {
  const FileBytes file = read_file(path);
  return parse_contents(unpack({file.span(), file.data, path}, kUnlimited));
}

Tensor parse_idx(std::span<const std::byte> bytes, const std::string& path, std::size_t most_unpacked) {
  return parse_contents(unpack({bytes, nullptr, path}, most_unpacked));
}

Dataset load_idx_dataset(const std::string& images_path, const std::string& labels_path,
                         const IdxDatasetOptions& options) {
  const Tensor images = read_idx(images_path);
  if (images.rank() == 0 || images.size() == 0) {
    throw IoError(
        images_path, -1,
        fmt::format("expected images (number, ...), at least one, found shape {}: there is nothing to train on",
                    to_string(images.shape())));
  }
  const Tensor labels = read_idx(labels_path);
  if (labels.rank() != 1 || is_floating(labels.dtype())) {
    throw IoError(
        labels_path, -1,
        fmt::format("expected the labels of {}, one axis of integers, found shape {} of {}: are the two files "
                    "swapped?",
                    images_path, to_string(labels.shape()), name_of(labels.dtype())));
  }
  if (labels.length() != images.length()) {
    throw IoError(labels_path, -1,
                  fmt::format("found {} labels, but {} has {} images: use two files of one set", labels.length(),
                              images_path, images.length()));
  }
  return Dataset::from_tensors(images, labels.to(Dtype::kInt32), options.scaling, options.input_dtype);
}

}  // namespace viva::data
