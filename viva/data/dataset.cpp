#include "viva/data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "viva/data/scale_elements.h"
#include "viva/tensor/kernel_scope.h"

namespace viva::data {
namespace {

// Row i of `tensor`, as bytes.
std::span<const std::byte> row_of(const Tensor& tensor, std::int64_t i, std::size_t row_bytes) {
  return tensor.bytes().subspan(static_cast<std::size_t>(i) * row_bytes, row_bytes);
}

std::size_t row_bytes_of(const Shape& row_shape, Dtype dtype) {
  return static_cast<std::size_t>(element_count(row_shape)) * size_of(dtype);
}

Shape with_axis(std::int64_t length, const Shape& row_shape) {
  Shape shape = row_shape;
  shape.insert(shape.begin(), length);
  return shape;
}

Shape without_axis(const Shape& shape) { return {shape.begin() + 1, shape.end()}; }

// Asks for the beginning of a row that is read next. A shuffled row is nowhere near the one before, and waiting for it
// takes as long as scaling it; behind these bytes the processor sees where the reads go.
void prefetch(std::span<const std::byte> row) {
  constexpr std::size_t kAhead = 4096;
  for (std::size_t offset = 0; offset < std::min(row.size(), kAhead); offset += kAlignment) {
    __builtin_prefetch(row.data() + offset);
  }
}

// Two tensors side by side, row by row. The inputs become another type where there is a scaling.
class TensorSource : public SampleSource {
 public:
  TensorSource(Tensor inputs, Tensor targets, std::optional<Scaling> scaling, Dtype input_dtype)
      : inputs_(std::move(inputs)),
        targets_(std::move(targets)),
        scaling_(scaling),
        size_(inputs_.length()),
        spec_{without_axis(inputs_.shape()), input_dtype, {}, targets_.dtype()} {
    if (targets_.length() != size_) throw ShapeMismatch("Dataset: length of the targets", {size_}, {targets_.length()});
    spec_.target_shape = without_axis(targets_.shape());
    stored_input_bytes_ = row_bytes_of(spec_.input_shape, inputs_.dtype());
    input_bytes_ = row_bytes_of(spec_.input_shape, spec_.input_dtype);
    target_bytes_ = row_bytes_of(spec_.target_shape, spec_.target_dtype);
  }

  std::int64_t size() const override { return size_; }
  SampleSpec spec() const override { return spec_; }

  void gather(std::span<const std::int64_t> indices, const Batch& out) const override {
    const KernelScope scope;  // the host's rounding mode must not change what is gathered
    const auto inputs = out.inputs.mutable_bytes(), targets = out.targets.mutable_bytes();
    for (std::size_t k = 0; k < indices.size(); ++k) {
      const auto stored = row_of(inputs_, indices[k], stored_input_bytes_);
      if (k + 1 < indices.size()) prefetch(row_of(inputs_, indices[k + 1], stored_input_bytes_));
      const auto input = inputs.subspan(k * input_bytes_, input_bytes_);
      if (scaling_) {
        scale_elements(inputs_.dtype(), stored, spec_.input_dtype, input, *scaling_);
      } else {
        std::copy(stored.begin(), stored.end(), input.begin());
      }
      const auto target = row_of(targets_, indices[k], target_bytes_);
      std::copy(target.begin(), target.end(), targets.begin() + static_cast<std::ptrdiff_t>(k * target_bytes_));
    }
  }

 private:
  Tensor inputs_, targets_;
  std::optional<Scaling> scaling_;
  std::int64_t size_;
  SampleSpec spec_;
  std::size_t stored_input_bytes_ = 0, input_bytes_ = 0, target_bytes_ = 0;
};

// Chosen samples of another source.
class SubsetSource : public SampleSource {
 public:
  SubsetSource(std::shared_ptr<const SampleSource> source, std::vector<std::int64_t> indices)
      : source_(std::move(source)), indices_(std::move(indices)) {}

  std::int64_t size() const override { return static_cast<std::int64_t>(indices_.size()); }
  SampleSpec spec() const override { return source_->spec(); }

  void gather(std::span<const std::int64_t> indices, const Batch& out) const override {
    // In pieces, because gathering allocates nothing.
    std::array<std::int64_t, 256> piece;
    for (std::size_t begin = 0; begin < indices.size(); begin += piece.size()) {
      const std::size_t count = std::min(piece.size(), indices.size() - begin);
      for (std::size_t k = 0; k < count; ++k) piece[k] = indices_[static_cast<std::size_t>(indices[begin + k])];
      const auto first = static_cast<std::int64_t>(begin), last = static_cast<std::int64_t>(begin + count);
      source_->gather({piece.data(), count}, {out.inputs.slice(first, last), out.targets.slice(first, last)});
    }
  }

 private:
  std::shared_ptr<const SampleSource> source_;
  std::vector<std::int64_t> indices_;
};

// Copies of `rows`, uniform and not empty, as one tensor. `what` names them in messages.
Tensor stack(const std::string& what, const std::vector<Tensor>& rows) {
  const Tensor& first = rows.front();
  Tensor stacked = Tensor::zeros(with_axis(static_cast<std::int64_t>(rows.size()), first.shape()), first.dtype());
  auto to = stacked.mutable_bytes().begin();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].shape() != first.shape()) {
      throw ShapeMismatch(fmt::format("{} {}, against the first", what, i), first.shape(), rows[i].shape());
    }
    if (rows[i].dtype() != first.dtype()) {
      throw DtypeError(fmt::format("{} {}: expected {}, as the first is, got {}", what, i, name_of(first.dtype()),
                                   name_of(rows[i].dtype())));
    }
    const auto from = rows[i].bytes();
    to = std::copy(from.begin(), from.end(), to);
  }
  return stacked;
}

void expect_room(const char* what, const Tensor& tensor, std::size_t count, const Shape& row_shape, Dtype dtype) {
  const Shape& shape = tensor.shape();
  const auto length = static_cast<std::int64_t>(count);
  if (shape.empty() || shape.front() != length ||
      !std::equal(shape.begin() + 1, shape.end(), row_shape.begin(), row_shape.end())) {
    throw ShapeMismatch(what, with_axis(length, row_shape), shape);
  }
  if (tensor.dtype() != dtype) {
    throw DtypeError(fmt::format("{}: expected {}, got {}", what, name_of(dtype), name_of(tensor.dtype())));
  }
}

void expect_within(const char* what, std::span<const std::int64_t> indices, std::int64_t size) {
  for (const std::int64_t i : indices) {
    if (i < 0 || i >= size) throw IndexOutOfBounds(what, i, size);
  }
}

}  // namespace

Dataset::Dataset() : Dataset(std::make_shared<TensorSource>(Tensor(), Tensor(), std::nullopt, Dtype::kFloat32)) {}

Dataset::Dataset(std::shared_ptr<const SampleSource> source) : source_(std::move(source)) {
  if (!source_) throw Error("Dataset: the source is null; Dataset() is the dataset without samples");
  spec_ = source_->spec();
}

Dataset Dataset::from_samples(const std::vector<Sample>& samples) {
  std::vector<Tensor> inputs, targets;
  for (const Sample& sample : samples) {
    inputs.push_back(sample.input);
    targets.push_back(sample.target);
  }
  return from_lists(inputs, targets);
}

Dataset Dataset::from_lists(const std::vector<Tensor>& inputs, const std::vector<Tensor>& targets) {
  if (inputs.size() != targets.size()) {
    throw ShapeMismatch("Dataset: number of targets, one for each input", {static_cast<std::int64_t>(inputs.size())},
                        {static_cast<std::int64_t>(targets.size())});
  }
  if (inputs.empty()) return Dataset();
  return from_tensors(stack("Dataset: input", inputs), stack("Dataset: target", targets));
}

Dataset Dataset::from_tensors(Tensor inputs, Tensor targets) {
  const Dtype dtype = inputs.dtype();
  return Dataset(std::make_shared<TensorSource>(std::move(inputs), std::move(targets), std::nullopt, dtype));
}

Dataset Dataset::from_tensors(Tensor inputs, Tensor targets, Scaling scaling, Dtype input_dtype) {
  if (!is_floating(input_dtype)) {
    throw DtypeError(
        fmt::format("Dataset: scaled inputs become float32 or float64, {} was asked for", name_of(input_dtype)));
  }
  return Dataset(std::make_shared<TensorSource>(std::move(inputs), std::move(targets), scaling, input_dtype));
}

Sample Dataset::get(std::int64_t i) const {
  const std::int64_t from_start = i < 0 ? i + size() : i;
  if (from_start < 0 || from_start >= size()) throw IndexOutOfBounds("Dataset::get", i, size());
  const Batch batch = make_batch(1);
  source_->gather({&from_start, 1}, batch);
  return {batch.inputs.row(0), batch.targets.row(0)};
}

Dataset Dataset::subset(std::vector<std::int64_t> indices) const {
  expect_within("Dataset::subset", indices, size());
  return Dataset(std::make_shared<SubsetSource>(source_, std::move(indices)));
}

Batch Dataset::make_batch(std::int64_t size) const {
  return {Tensor::zeros(with_axis(size, spec_.input_shape), spec_.input_dtype),
          Tensor::zeros(with_axis(size, spec_.target_shape), spec_.target_dtype)};
}

void Dataset::gather(std::span<const std::int64_t> indices, const Batch& out) const {
  expect_room("Dataset::gather inputs", out.inputs, indices.size(), spec_.input_shape, spec_.input_dtype);
  expect_room("Dataset::gather targets", out.targets, indices.size(), spec_.target_shape, spec_.target_dtype);
  expect_within("Dataset::gather", indices, size());
  source_->gather(indices, out);
}

}  // namespace viva::data
