// CSV files as datasets: a header line with the columns' names, then a sample a line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "viva/data/dataset.h"

namespace viva::data {

enum class CsvTarget { kClass, kNumber };

struct CsvDatasetOptions {
  // The target's column, by its name or by its place from 0; a negative place counts from the last column.
  std::variant<std::int64_t, std::string> target_column = std::int64_t{-1};
  CsvTarget target = CsvTarget::kClass;
  char delimiter = ',';
};

// Inputs float32 (columns - 1), in the order of the columns; targets int32 () for classes, whole numbers from 0, or
// float32 (1) for numbers. Cells are decimal numbers, rounded once to float32, with or without blanks around them;
// csv_reader.h has the grammar. IoError with path, line and column for a cell that is missing, no number, or not finite
// as a float32, for a line with another number of columns than the header, a name that occurs twice, fewer than two
// columns, and no samples. ConfigError "target_column" where there is no such column.
Dataset load_csv_dataset(const std::string& path, const CsvDatasetOptions& options = {});

// The same from bytes in memory, as if read from `path`.
Dataset parse_csv_dataset(std::span<const std::byte> bytes, const std::string& path,
                          const CsvDatasetOptions& options = {});

}  // namespace viva::data
