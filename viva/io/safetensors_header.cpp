#include "viva/io/safetensors_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "viva/base/aligned_buffer.h"
#include "viva/base/error.h"

namespace viva::io {
namespace {

using nlohmann::json;

constexpr std::string_view kMetadataName = "__metadata__";

struct DtypeName {
  Dtype dtype;
  std::string_view name;
};
constexpr std::array<DtypeName, 7> kDtypeNames = {{{Dtype::kFloat32, "F32"},
                                                   {Dtype::kFloat64, "F64"},
                                                   {Dtype::kUInt8, "U8"},
                                                   {Dtype::kInt8, "I8"},
                                                   {Dtype::kInt16, "I16"},
                                                   {Dtype::kInt32, "I32"},
                                                   {Dtype::kInt64, "I64"}}};

// Takes the JSON event by event, so that a name given twice is seen and nothing but the entries is ever stored.
class HeaderReader : public nlohmann::json_sax<json> {
 public:
  explicit HeaderReader(const std::string& path) : path_(path) {}

  std::vector<SafetensorsEntry> take_entries() { return std::move(entries_); }

  bool null() override { return wrong_value("null"); }
  bool boolean(bool /*value*/) override { return wrong_value("a boolean"); }
  bool number_integer(number_integer_t value) override { return wrong_value(fmt::format("{}", value)); }
  bool number_float(number_float_t /*value*/, const string_t& text) override { return wrong_value(text); }
  bool binary(binary_t& /*value*/) override { return wrong_value("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ == Place::kShape) {
      if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
        fail(fmt::format("a dimension of {} is too large", value));
      }
      entries_.back().shape.push_back(static_cast<std::int64_t>(value));
      return true;
    }
    if (place_ != Place::kOffsets) return wrong_value(fmt::format("{}", value));
    if (num_offsets_ == 2) fail("expected two data_offsets, found more");
    (num_offsets_ == 0 ? entries_.back().begin : entries_.back().end) = value;
    ++num_offsets_;
    return true;
  }

  bool string(string_t& value) override {
    if (place_ == Place::kMetadata) return true;
    if (place_ != Place::kTensor || field_ != "dtype") return wrong_value(fmt::format("\"{}\"", value));
    for (const DtypeName& known : kDtypeNames) {
      if (known.name != value) continue;
      entries_.back().dtype = known.dtype;
      return true;
    }
    fail(fmt::format("viva has no dtype \"{}\", only F32, F64, U8, I8, I16, I32 and I64: convert the tensor", value));
  }

  bool start_object(std::size_t /*elements*/) override {
    if (place_ == Place::kOutside) {
      place_ = Place::kTensors;
    } else if (place_ == Place::kTensors) {
      place_ = in_metadata_ ? Place::kMetadata : Place::kTensor;
    } else {
      return wrong_value("an object");
    }
    return true;
  }

  bool key(string_t& name) override {
    if (place_ == Place::kMetadata) return true;
    if (place_ == Place::kTensors) {
      if (!names_.insert(name).second) fail(fmt::format("the name '{}' occurs twice", name));
      in_metadata_ = name == kMetadataName;
      fields_.clear();
      num_offsets_ = 0;
      if (!in_metadata_) {
        entries_.emplace_back();
        entries_.back().name = name;
      }
      return true;
    }
    if (name != "dtype" && name != "shape" && name != "data_offsets") fail(fmt::format("unknown field \"{}\"", name));
    if (!fields_.insert(name).second) fail(fmt::format("the field \"{}\" occurs twice", name));
    field_ = name;
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kTensor) {
      if (fields_.size() != 3) fail("expected the fields dtype, shape and data_offsets, found fewer");
      if (num_offsets_ != 2) fail("expected two data_offsets, found fewer");
    }
    place_ = place_ == Place::kTensors ? Place::kOutside : Place::kTensors;
    return true;
  }

  bool start_array(std::size_t /*elements*/) override {
    if (place_ != Place::kTensor || field_ == "dtype") return wrong_value("an array");
    place_ = field_ == "shape" ? Place::kShape : Place::kOffsets;
    return true;
  }

  bool end_array() override {
    place_ = Place::kTensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/, const json::exception& /*error*/) override {
    // The parser counts the bytes it has read.
    const std::uint64_t index = position > 0 ? position - 1 : 0;
    throw IoError(path_, static_cast<std::int64_t>(kSafetensorsPrefix + index),
                  "the safetensors header is no valid JSON");
  }

 private:
  enum class Place { kOutside, kTensors, kTensor, kShape, kOffsets, kMetadata };

  [[noreturn]] void fail(const std::string& message) const {
    const bool in_tensor = place_ == Place::kTensor || place_ == Place::kShape || place_ == Place::kOffsets;
    const std::string tensor = in_tensor ? fmt::format("tensor '{}': ", entries_.back().name) : "";
    throw IoError(path_, static_cast<std::int64_t>(kSafetensorsPrefix), "safetensors header: " + tensor + message);
  }

  bool wrong_value(std::string_view found) const {
    switch (place_) {
      case Place::kOutside:
        fail(fmt::format("expected an object, found {}", found));
      case Place::kTensors:
        fail(fmt::format("expected an object for '{}', found {}",
                         in_metadata_ ? std::string(kMetadataName) : entries_.back().name, found));
      case Place::kMetadata:
        fail(fmt::format("expected strings in {}, found {}", kMetadataName, found));
      case Place::kTensor:
        fail(fmt::format("expected {} for \"{}\", found {}", field_ == "dtype" ? "a string" : "an array", field_,
                         found));
      case Place::kShape:
      case Place::kOffsets:
        break;
    }
    fail(fmt::format("expected whole numbers from 0 in \"{}\", found {}", field_, found));
  }

  const std::string& path_;
  Place place_ = Place::kOutside;
  std::vector<SafetensorsEntry> entries_;
  std::set<std::string> names_;
  // Of the tensor being read:
  bool in_metadata_ = false;
  std::string field_;
  std::set<std::string> fields_;
  int num_offsets_ = 0;
};

std::uint64_t bytes_of(const SafetensorsEntry& entry, const std::string& path) {
  // element_count is at most 2^62, so only the multiplication by the element's size is left to overflow.
  std::uint64_t count = 0;
  try {
    count = static_cast<std::uint64_t>(element_count(entry.shape));
  } catch (const InvalidShape&) {
    count = std::numeric_limits<std::uint64_t>::max();
  }
  if (count > std::numeric_limits<std::uint64_t>::max() / size_of(entry.dtype)) {
    throw IoError(path, static_cast<std::int64_t>(kSafetensorsPrefix),
                  fmt::format("safetensors header: tensor '{}': the size of shape {} overflows", entry.name,
                              to_string(entry.shape)));
  }
  return count * size_of(entry.dtype);
}

}  // namespace

std::vector<SafetensorsEntry> parse_safetensors_header(std::string_view header, std::uint64_t data_size,
                                                       const std::string& path) {
  HeaderReader reader(path);
  json::sax_parse(header.begin(), header.end(), &reader);
  std::vector<SafetensorsEntry> entries = reader.take_entries();
  std::stable_sort(entries.begin(), entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });

  const auto fail = [&](std::uint64_t at, const std::string& message) {
    throw IoError(path, static_cast<std::int64_t>(kSafetensorsPrefix + header.size() + at), message);
  };
  std::uint64_t covered = 0;
  for (const SafetensorsEntry& entry : entries) {
    const std::uint64_t begin = entry.begin;
    const std::uint64_t end = entry.end;
    if (begin > end || end > data_size) {
      fail(0, fmt::format("tensor '{}': its data_offsets [{}, {}] are not within the {} bytes of data", entry.name,
                          begin, end, data_size));
    }
    if (const std::uint64_t expected = bytes_of(entry, path); expected != end - begin) {
      fail(begin, fmt::format("tensor '{}': shape {} needs {} bytes, but its data_offsets [{}, {}] give it {}",
                              entry.name, to_string(entry.shape), expected, begin, end, end - begin));
    }
    if (begin != covered) {
      fail(begin, fmt::format("tensor '{}': expected its data to begin at {}, where the one before ends, found {} ({})",
                              entry.name, covered, begin, begin < covered ? "they overlap" : "a gap"));
    }
    covered = end;
  }
  if (covered != data_size) {
    fail(covered,
         fmt::format("expected the file to end behind the last tensor, found {} more bytes", data_size - covered));
  }
  return entries;
}

std::string make_safetensors_header(std::span<const Param> params, const std::string& path) {
  std::string header = "{";
  std::set<std::string_view> names;
  std::uint64_t offset = 0;
  for (const Param& param : params) {
    const std::string& name = param.name;
    const auto reject = [&](std::string_view reason) {
      throw DimensionError(fmt::format("{}: a tensor cannot be written under the name '{}': {}", path, name, reason),
                           name);
    };
    if (!names.insert(name).second) reject("it occurs twice");
    if (name == kMetadataName) reject("the format keeps it for itself");
    std::string quoted;
    try {
      quoted = json(name).dump();
    } catch (const json::type_error&) {
      reject("it is not UTF-8");
    }
    const auto known = std::find_if(kDtypeNames.begin(), kDtypeNames.end(),
                                    [&](const DtypeName& candidate) { return candidate.dtype == param.value.dtype(); });
    const std::uint64_t end = offset + param.value.bytes().size();
    header +=
        fmt::format("{}{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", names.size() == 1 ? "" : ",",
                    quoted, known->name, fmt::join(param.value.shape(), ","), offset, end);
    offset = end;
  }
  header += '}';
  header.resize(round_up(header.size(), kSafetensorsPrefix), ' ');
  if (header.size() > kMaxSafetensorsHeader) {
    throw IoError(path, -1,
                  fmt::format("the names and shapes of {} tensors take more than {} bytes", params.size(),
                              kMaxSafetensorsHeader));
  }
  return header;
}

}  // namespace viva::io
