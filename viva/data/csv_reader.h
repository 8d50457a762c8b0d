// CsvReader: the cells of comma-separated values (RFC 4180), record by record.
//
// Own code, because Debian's two libraries cannot say what is wrong where: libfccp needs the columns when it is
// compiled, libcsv knows neither the line it is at nor where an open quote began.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace viva::data {

struct CsvCell {
  std::string text;  // without quotes
  std::int64_t line = 0;
  std::size_t offset = 0;  // where it begins in the file
};

// Reads `text`, the contents of `path`, from left to right; both must outlive the reader.
class CsvReader {
 public:
  // A UTF-8 byte order mark at the beginning is skipped. ConfigError for a quote or an end of a line as the delimiter.
  CsvReader(std::string_view text, const std::string& path, char delimiter);

  // The next record into `cells`; false behind the last one. Lines end with LF or CR LF, the last one also without;
  // empty lines at the end of the file are no records. IoError for an empty line before others, for a quote that is
  // never closed, and for one within a cell that does not begin with one or behind the closing one.
  bool next(std::vector<CsvCell>& cells);

  // An IoError at the cell: "line 3, column 2: ...", with the column's name where it has one.
  [[noreturn]] void fail(const CsvCell& cell, std::size_t column, std::string_view name,
                         const std::string& message) const;

 private:
  bool at_line_end() const;
  void read_cell(CsvCell& cell, std::size_t column);
  void read_quoted(CsvCell& cell, std::size_t column);

  std::string_view text_;
  const std::string& path_;
  char delimiter_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
};

}  // namespace viva::data
