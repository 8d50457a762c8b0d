#include "viva/data/npy_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>

#include "viva/base/aligned_buffer.h"
#include "viva/data/npy.h"

namespace viva::data {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kVersionEnd = 8;

struct TypeCode {
  std::string_view code;
  Dtype dtype;
};

// The first code of a dtype is the one that is written.
constexpr std::array<TypeCode, 8> kTypeCodes{{{"f4", Dtype::kFloat32},
                                              {"f8", Dtype::kFloat64},
                                              {"u1", Dtype::kUInt8},
                                              {"i1", Dtype::kInt8},
                                              {"i2", Dtype::kInt16},
                                              {"i4", Dtype::kInt32},
                                              {"i8", Dtype::kInt64},
                                              {"b1", Dtype::kUInt8}}};

// Reads the dict, from left to right: no expressions, no escapes, no nesting, nothing that NumPy does not write.
class DictParser {
 public:
  DictParser(std::string_view text, std::size_t offset, const std::string& path)
      : text_(text), offset_(offset), path_(path) {}

  void parse(NpyHeader& header) {
    constexpr std::array<std::string_view, 3> kKeys{"descr", "fortran_order", "shape"};
    std::array<bool, 3> seen{};
    expect('{');
    while (!take('}')) {
      skip_space();
      const std::size_t place = at_;
      const std::string_view key = string("a key");
      const auto which = static_cast<std::size_t>(std::find(kKeys.begin(), kKeys.end(), key) - kKeys.begin());
      if (which == kKeys.size()) {
        fail(place, fmt::format("expected the keys 'descr', 'fortran_order' and 'shape', found '{}'", key));
      }
      if (std::exchange(seen[which], true)) fail(place, fmt::format("'{}' for the second time", key));
      expect(':');
      if (which == 0) parse_descr(header);
      if (which == 1) header.fortran_order = boolean();
      if (which == 2) header.shape = tuple();
      if (take(',')) continue;
      expect('}');
      break;
    }
    const auto missing = static_cast<std::size_t>(std::find(seen.begin(), seen.end(), false) - seen.begin());
    if (missing < seen.size()) fail(at_, fmt::format("expected a dict with '{}'", kKeys[missing]));
    skip_space();
    if (at_ < text_.size()) fail(at_, "expected the end of the header behind its dict, found " + rest());
  }

 private:
  [[noreturn]] void fail(std::size_t at, const std::string& message) const {
    throw IoError(path_, static_cast<std::int64_t>(offset_ + at), "NPY header: " + message);
  }

  // What stands here, for a message.
  std::string rest() const {
    constexpr std::size_t kShown = 20;
    if (at_ == text_.size()) return "its end";
    return fmt::format("'{}'", text_.substr(at_, kShown));
  }

  void skip_space() {
    constexpr std::string_view kSpace = " \t\r\n";
    at_ = std::min(text_.find_first_not_of(kSpace, at_), text_.size());
  }

  bool take(std::string_view token) {
    skip_space();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  bool take(char token) { return take(std::string_view(&token, 1)); }

  void expect(char token) {
    if (!take(token)) fail(at_, fmt::format("expected '{}', found {}", token, rest()));
  }

  std::string_view string(std::string_view what) {
    skip_space();
    const bool quoted = at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"');
    const std::size_t end = quoted ? text_.find(text_[at_], at_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos) fail(at_, fmt::format("expected {} in quotes, found {}", what, rest()));
    const std::string_view value = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return value;
  }

  bool boolean() {
    if (take("True")) return true;
    if (!take("False")) fail(at_, "expected True or False, found " + rest());
    return false;
  }

  Shape tuple() {
    Shape shape;
    expect('(');
    while (!take(')')) {
      skip_space();
      const std::size_t place = at_;
      shape.push_back(axis());
      if (shape.size() > kMostNpyAxes) fail(place, fmt::format("expected at most {} axes", kMostNpyAxes));
      if (take(',')) continue;
      // Python takes (3) for the number 3.
      if (shape.size() == 1) fail(at_, "expected ',' behind the only axis, found " + rest());
      expect(')');
      break;
    }
    return shape;
  }

  std::int64_t axis() {
    std::int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc() || *begin == '-') fail(at_, "expected an axis, 0 to 2^63 - 1, found " + rest());
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  void parse_descr(NpyHeader& header) {
    skip_space();
    const std::size_t place = at_;
    const std::string_view descr = string("the type of the elements");
    const auto* const found = std::find_if(kTypeCodes.begin(), kTypeCodes.end(), [descr](const TypeCode& type) {
      return !descr.empty() && descr.substr(1) == type.code;
    });
    // A single byte has no order.
    const std::string_view orders = found != kTypeCodes.end() && size_of(found->dtype) == 1 ? "|<>" : "<>";
    if (found == kTypeCodes.end() || orders.find(descr.front()) == std::string_view::npos) {
      fail(place, fmt::format("expected the type '<' or '>' and f4, f8, i2, i4 or i8, or '|' and u1, i1 or b1; found "
                              "'{}': convert the array with astype before saving it",
                              descr));
    }
    header.dtype = found->dtype;
    header.big_endian = descr.front() == '>';
  }

  std::string_view text_;
  std::size_t offset_;  // of the text in the file
  const std::string& path_;
  std::size_t at_ = 0;
};

}  // namespace

NpyHeader parse_npy_header(std::span<const std::byte> bytes, const std::string& path) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto fail = [&path](std::size_t offset, const std::string& message) {
    throw IoError(path, static_cast<std::int64_t>(offset), message);
  };
  if (!text.starts_with(kMagic)) {
    const auto beginning = bytes.first(std::min(bytes.size(), kMagic.size()));
    fail(0, fmt::format("expected the NPY magic number 93 4E 55 4D 50 59, found {}: this is no NPY file",
                        bytes.empty() ? "an empty file" : fmt::format("{:02X}", fmt::join(beginning, " "))));
  }
  if (bytes.size() < kVersionEnd) fail(bytes.size(), "expected the version of the NPY format, but the file ends here");
  const auto major = std::to_integer<unsigned>(bytes[6]), minor = std::to_integer<unsigned>(bytes[7]);
  if (major < 1 || major > 3 || minor != 0) {
    fail(6, fmt::format("expected version 1.0, 2.0 or 3.0 of the NPY format, found {}.{}", major, minor));
  }
  NpyHeader header;
  const std::size_t length_bytes = major == 1 ? 2 : 4, dict = kVersionEnd + length_bytes;
  if (bytes.size() < dict) fail(bytes.size(), "expected the length of the NPY header, but the file ends here");
  std::size_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) {
    length = length << 8 | std::to_integer<std::size_t>(bytes[kVersionEnd + i]);
  }
  if (length > bytes.size() - dict) {
    fail(kVersionEnd, fmt::format("expected an NPY header of {} bytes, but {} follow: the file is cut short", length,
                                  bytes.size() - dict));
  }
  header.size = dict + length;
  DictParser(text.substr(dict, length), dict, path).parse(header);
  return header;
}

std::string make_npy_header(Dtype dtype, const Shape& shape) {
  const auto* const type = std::find_if(kTypeCodes.begin(), kTypeCodes.end(),
                                        [dtype](const TypeCode& candidate) { return candidate.dtype == dtype; });
  std::string dict =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}", size_of(dtype) == 1 ? '|' : '<',
                  type->code, fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const std::size_t before = kVersionEnd + 2, size = round_up(before + dict.size() + 1, kAlignment);
  dict.resize(size - before - 1, ' ');
  dict += '\n';
  std::string header(kMagic);
  for (const std::size_t byte : {std::size_t{1}, std::size_t{0}, dict.size() & 0xFF, dict.size() >> 8}) {
    header += static_cast<char>(byte);
  }
  return header + dict;
}

}  // namespace viva::data
