#include "viva/data/csv_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "viva/base/error.h"

namespace viva::data {

CsvReader::CsvReader(std::string_view text, const std::string& path, char delimiter)
    : text_(text), path_(path), delimiter_(delimiter) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (delimiter == '"' || delimiter == '\r' || delimiter == '\n') {
    throw ConfigError({}, 0, "delimiter", "expected a character between cells, found a quote or the end of a line");
  }
  if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
}

bool CsvReader::next(std::vector<CsvCell>& cells) {
  if (at_ < text_.size() && at_line_end()) {
    // No cell can stand in an empty line, so only the end of the file may follow.
    const CsvCell here{{}, line_, at_};
    at_ = std::min(text_.find_first_not_of("\r\n", at_), text_.size());
    if (at_ < text_.size()) fail(here, 0, {}, "expected cells, found an empty line with others behind it");
  }
  if (at_ == text_.size()) return false;
  std::size_t count = 0;
  while (true) {
    // The cells of the record before are used again, with the memory that they have.
    if (count == cells.size()) cells.emplace_back();
    read_cell(cells[count], count);
    ++count;
    if (at_ == text_.size() || text_[at_] != delimiter_) break;
    ++at_;
  }
  cells.resize(count);
  if (at_ < text_.size()) {
    at_ += text_[at_] == '\r' ? 2 : 1;
    ++line_;
  }
  return true;
}

bool CsvReader::at_line_end() const {
  if (at_ == text_.size() || text_[at_] == '\n') return true;
  return text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n';
}

void CsvReader::read_cell(CsvCell& cell, std::size_t column) {
  cell.line = line_;
  cell.offset = at_;
  if (at_ < text_.size() && text_[at_] == '"') {
    read_quoted(cell, column);
    return;
  }
  while (!at_line_end() && text_[at_] != delimiter_) {
    if (text_[at_] == '"') {
      fail(cell, column, {}, "expected a cell without quotes or within them, found a quote in its middle");
    }
    ++at_;
  }
  cell.text = text_.substr(cell.offset, at_ - cell.offset);
}

void CsvReader::read_quoted(CsvCell& cell, std::size_t column) {
  cell.text.clear();
  ++at_;
  while (true) {
    const std::size_t quote = text_.find('"', at_);
    if (quote == std::string_view::npos) fail(cell, column, {}, "its quote is never closed");
    const std::string_view part = text_.substr(at_, quote - at_);
    cell.text += part;
    line_ += std::count(part.begin(), part.end(), '\n');
    at_ = quote + 1;
    if (at_ == text_.size() || text_[at_] != '"') break;
    cell.text += '"';  // two quotes stand for one
    ++at_;
  }
  if (!at_line_end() && text_[at_] != delimiter_) {
    fail(cell, column, {},
         "expected the end of the cell behind its closing quote; a quote within one is written twice");
  }
}

void CsvReader::fail(const CsvCell& cell, std::size_t column, std::string_view name, const std::string& message) const {
  throw IoError(path_, static_cast<std::int64_t>(cell.offset),
                fmt::format("line {}, column {}{}: {}", cell.line, column + 1,
                            name.empty() ? "" : fmt::format(" ('{}')", name), message));
}

}  // namespace viva::data
