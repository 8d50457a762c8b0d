#include "viva/data/csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "viva/data/csv_reader.h"
#include "viva/data/file_bytes.h"
#include "viva/tensor/kernel_scope.h"

namespace viva::data {
namespace {

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// A cell as messages show it.
std::string shown(std::string_view text) {
  constexpr std::size_t kShown = 40;
  return fmt::format("'{}{}'", text.substr(0, kShown), text.size() > kShown ? "..." : "");
}

// One file on its way to a dataset.
class CsvTable {
 public:
  CsvTable(std::string_view text, const std::string& path, const CsvDatasetOptions& options)
      : reader_(text, path, options.delimiter), path_(path), options_(options) {
    read_header();
    find_target();
    while (read_sample()) {
    }
    if (samples_ == 0) {
      throw IoError(path, -1, "expected samples below the header line, found none: there is nothing to train on");
    }
  }

  Dataset dataset() const {
    const Tensor inputs = Tensor::from_values(inputs_, {samples_, static_cast<std::int64_t>(names_.size() - 1)});
    if (options_.target == CsvTarget::kClass) return Dataset::from_tensors(inputs, Tensor::from_values(classes_));
    return Dataset::from_tensors(inputs, Tensor::from_values(numbers_, {samples_, 1}));
  }

 private:
  void read_header() {
    if (!reader_.next(cells_)) throw IoError(path_, -1, "expected a header line, found an empty file");
    std::unordered_map<std::string_view, std::size_t> places;
    names_.reserve(cells_.size());  // the map's keys must stay where they are
    for (std::size_t column = 0; column < cells_.size(); ++column) {
      const std::string& name = names_.emplace_back(without_blanks(cells_[column].text));
      const auto [first, is_new] = places.emplace(name, column);
      if (!is_new) {
        reader_.fail(
            cells_[column], column, name,
            fmt::format("column {} has the same name; the first line must name the columns", first->second + 1));
      }
    }
    if (names_.size() < 2) {
      throw IoError(path_, 0,
                    fmt::format("expected at least two columns between '{}', an input and the target, found one: {}",
                                options_.delimiter, shown(names_.front())));
    }
  }

  void find_target() {
    const auto fail = [this](const std::string& what) {
      constexpr std::size_t kShown = 20;
      const auto some = std::span(names_).first(std::min(names_.size(), kShown));
      throw ConfigError({}, 0, "target_column",
                        fmt::format("{} has no column {}; its {} columns are {}{}", path_, what, names_.size(),
                                    fmt::join(some, ", "), some.size() < names_.size() ? ", ..." : ""));
    };
    if (const auto* name = std::get_if<std::string>(&options_.target_column)) {
      const auto found = std::find(names_.begin(), names_.end(), *name);
      if (found == names_.end()) fail(shown(*name));
      target_ = static_cast<std::size_t>(found - names_.begin());
      return;
    }
    const std::int64_t place = std::get<std::int64_t>(options_.target_column);
    const auto columns = static_cast<std::int64_t>(names_.size());
    if (place < -columns || place >= columns) fail(fmt::format("{}, counted from 0", place));
    target_ = static_cast<std::size_t>(place < 0 ? place + columns : place);
  }

  bool read_sample() {
    if (!reader_.next(cells_)) return false;
    if (cells_.size() != names_.size()) {
      // At the first cell too many, or the last one there is.
      const std::size_t column = std::min(cells_.size() - 1, names_.size());
      reader_.fail(cells_[column], column, {},
                   fmt::format("expected {} columns, as in the header, found {}", names_.size(), cells_.size()));
    }
    for (std::size_t column = 0; column < cells_.size(); ++column) {
      if (column != target_) {
        inputs_.push_back(number(column));
      } else if (options_.target == CsvTarget::kClass) {
        classes_.push_back(class_number(column));
      } else {
        numbers_.push_back(number(column));
      }
    }
    ++samples_;
    return true;
  }

  [[noreturn]] void fail(std::size_t column, const std::string& message) const {
    reader_.fail(cells_[column], column, names_[column], message);
  }

  // All of `text` as a number.
  template <typename T>
  static std::errc parse(std::string_view text, T& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return end == text.data() + text.size() ? error : std::errc::invalid_argument;
  }

  std::string_view content(std::size_t column, std::string_view expected) const {
    const std::string_view text = without_blanks(cells_[column].text);
    if (text.empty()) fail(column, fmt::format("expected {}, found an empty cell", expected));
    return text;
  }

  float number(std::size_t column) const {
    const std::string_view text = content(column, "a number");
    float value = 0;
    std::errc error = parse(text, value);
    if (error == std::errc::result_out_of_range) {
      // Too large, or so near to zero that zero is the nearest float32.
      double wide = 0;
      if (parse(text, wide) == std::errc() && std::abs(wide) < 1) return static_cast<float>(wide);
      fail(column, fmt::format("expected a number that float32 can hold, found {}", shown(text)));
    }
    if (error != std::errc()) fail(column, fmt::format("expected a number, found {}", shown(text)));
    if (!std::isfinite(value)) fail(column, fmt::format("expected a finite number, found {}", shown(text)));
    return value;
  }

  std::int32_t class_number(std::size_t column) const {
    constexpr std::string_view kClass = "a class, a whole number from 0 to 2147483647";
    const std::string_view text = content(column, kClass);
    std::int32_t value = 0;
    if (parse(text, value) != std::errc() || text.front() == '-') {
      fail(column, fmt::format("expected {}, found {}", kClass, shown(text)));
    }
    return value;
  }

  CsvReader reader_;
  const std::string& path_;
  const CsvDatasetOptions& options_;
  std::vector<CsvCell> cells_;  // of the line that is read
  std::vector<std::string> names_;
  std::size_t target_ = 0;
  std::int64_t samples_ = 0;
  std::vector<float> inputs_, numbers_;
  std::vector<std::int32_t> classes_;
};

}  // namespace

Dataset load_csv_dataset(const std::string& path, const CsvDatasetOptions& options) {
  const FileBytes file = read_file(path);
  return parse_csv_dataset(file.span(), path, options);
}

Dataset parse_csv_dataset(std::span<const std::byte> bytes, const std::string& path, const CsvDatasetOptions& options) {
  const KernelScope scope;  // the host's rounding mode must not change what is read
  return CsvTable({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path, options).dataset();
}

}  // namespace viva::data
