#include "viva/data/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>

#include "viva/base/input_file.h"
#include "viva/data/file_bytes.h"
#include "viva/data/split.h"

namespace viva::data {
namespace {

// Both halves of a sample are windows of one piece of memory.
template <typename Token>
class WindowSource : public SampleSource {
 public:
  WindowSource(Tensor tokens, const WindowOptions& options)
      : tokens_(std::move(tokens)),
        options_(options),
        size_((tokens_.size() - options.context - 1) / options.stride + 1) {}

  std::int64_t size() const override { return size_; }
  SampleSpec spec() const override { return {{options_.context}, Dtype::kInt32, {options_.context}, Dtype::kInt32}; }

  void gather(std::span<const std::int64_t> indices, const Batch& out) const override {
    const auto context = static_cast<std::size_t>(options_.context);
    auto inputs = out.inputs.mutable_values<std::int32_t>().begin();
    auto targets = out.targets.mutable_values<std::int32_t>().begin();
    for (const std::int64_t i : indices) {
      const auto begin = static_cast<std::size_t>(i * options_.stride);
      const auto window = tokens_.values<Token>().subspan(begin, context + 1);
      inputs = std::copy(window.begin(), window.end() - 1, inputs);
      targets = std::copy(window.begin() + 1, window.end(), targets);
    }
  }

 private:
  Tensor tokens_;
  WindowOptions options_;
  std::int64_t size_;
};

// The bytes of all files in one piece of memory.
FileBytes read_all(const std::deque<InputFile>& files) {
  std::size_t size = 0;
  for (const InputFile& file : files) {
    // Sparse files may claim any size.
    if (__builtin_add_overflow(size, file.size(), &size)) {
      throw IoError(file.path(), -1, "together with the files before it, it is larger than memory can be");
    }
  }
  FileBytes bytes = allocate_for_file(files.front().path(), size);
  std::size_t begin = 0;
  for (const InputFile& file : files) {
    file.read_at(0, {bytes.data.get() + begin, file.size()});
    begin += file.size();
  }
  return bytes;
}

}  // namespace

Text load_text(std::span<const std::string> paths, const std::optional<Vocabulary>& vocabulary) {
  if (paths.empty()) throw Error("load_text: expected at least one file, found none");
  std::deque<InputFile> files;  // a file cannot be moved
  for (const std::string& path : paths) {
    files.emplace_back(path);
    if (files.back().size() == 0) throw IoError(path, -1, "expected a text, found an empty file");
  }
  const FileBytes bytes = read_all(files);
  const std::span text(reinterpret_cast<char*>(bytes.data.get()), bytes.size);
  Vocabulary known = vocabulary ? *vocabulary : Vocabulary(std::string_view(text.data(), text.size()));
  // The text becomes its tokens where it stands: a large one is in memory once.
  char* character = text.data();
  for (const InputFile& file : files) {
    for (std::uint64_t offset = 0; offset < file.size(); ++offset, ++character) {
      const std::int32_t token = known.token(*character);
      if (token == Vocabulary::kNone) {
        throw IoError(file.path(), static_cast<std::int64_t>(offset),
                      fmt::format("expected one of the {} characters of the vocabulary, found {}", known.size(),
                                  name_of_character(*character)));
      }
      *character = static_cast<char>(token);
    }
  }
  const Shape shape{static_cast<std::int64_t>(bytes.size)};
  return {Tensor::over(bytes.data, bytes.data.get(), shape, Dtype::kUInt8), std::move(known)};
}

TextSplit split(const Text& text, double validation_fraction) {
  const std::int64_t size = text.tokens.length(), middle = size - validation_count(size, validation_fraction);
  return {{text.tokens.slice(0, middle), text.vocabulary}, {text.tokens.slice(middle, size), text.vocabulary}};
}

Dataset window_dataset(const Tensor& tokens, const WindowOptions& options) {
  if (options.context < 1 || options.stride < 1) {
    throw InvalidShape(fmt::format("windows of a text: expected a context and a stride of at least 1, found {} and {}",
                                   options.context, options.stride));
  }
  if (tokens.rank() != 1) {
    throw InvalidShape(
        fmt::format("windows of a text: expected tokens of one axis, found shape {}", to_string(tokens.shape())));
  }
  // Not context + 1, which may overflow.
  if (tokens.size() <= options.context) {
    throw InvalidShape(
        fmt::format("windows of a text: a context of {} needs at least one token more than that, found {} tokens: "
                    "give more text or a smaller context",
                    options.context, tokens.size()));
  }
  switch (tokens.dtype()) {
    case Dtype::kUInt8:
      return Dataset(std::make_shared<WindowSource<std::uint8_t>>(tokens, options));
    case Dtype::kInt32:
      return Dataset(std::make_shared<WindowSource<std::int32_t>>(tokens, options));
    default:
      throw DtypeError(
          fmt::format("windows of a text: expected tokens as uint8 or int32, found {}", name_of(tokens.dtype())));
  }
}

}  // namespace viva::data
