// IDX files, the format of the MNIST family: plain or gzip.
//
// Grammar (big-endian): two zero bytes, a type code (08 uint8, 09 int8, 0B int16, 0C int32, 0D float32, 0E float64),
// the number of dimensions (one byte), each dimension as an unsigned 32-bit number, then the elements in row-major
// order.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "viva/data/dataset.h"
#include "viva/data/gzip.h"

namespace viva::data {

// A whole file. IoError with path and offset for a file that is missing, no regular file, damaged, shorter or longer
// than its header says, or whose header's size overflows; sizes are checked before anything is allocated for them.
// Offsets behind gzip count unpacked bytes, and the message says so.
Tensor read_idx(const std::string& path);

// The same from bytes in memory (plain or gzip), as if read from `path`. IoError where gzip data unpacks to more than
// `most_unpacked` bytes.
Tensor parse_idx(std::span<const std::byte> bytes, const std::string& path, std::size_t most_unpacked = kUnlimited);

struct IdxDatasetOptions {
  Scaling scaling{1.0 / 255.0, 0.0};
  Dtype input_dtype = Dtype::kFloat32;
};

// Images (n, ...) and their labels (n): the images stay as they are stored and become floats when they are gathered;
// labels become int32, which holds every integer of the format. IoError names both files where their counts differ or
// the labels are no vector of integers, and the images where there are none.
Dataset load_idx_dataset(const std::string& images_path, const std::string& labels_path,
                         const IdxDatasetOptions& options = {});

}  // namespace viva::data
