// Samples, datasets and batches.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "viva/tensor/tensor.h"

namespace viva::data {

struct Sample {
  Tensor input, target;
};

// Samples stacked along a new axis 0: inputs (n, ...), targets (n, ...).
struct Batch {
  Tensor inputs, targets;
  std::int64_t size() const { return inputs.length(); }
};

// What one sample looks like when it has been gathered.
struct SampleSpec {
  Shape input_shape;
  Dtype input_dtype = Dtype::kFloat32;
  Shape target_shape;
  Dtype target_dtype = Dtype::kFloat32;
};

// Where a dataset's samples come from. Every function is const and may be called from many threads at once.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  virtual std::int64_t size() const = 0;
  virtual SampleSpec spec() const = 0;
  // Writes sample indices[k] to row k of `out`, whose tensors have spec()'s shapes behind axis 0. Indices are within
  // 0 … size() - 1.
  virtual void gather(std::span<const std::int64_t> indices, const Batch& out) const = 0;
};

// A stored number x becomes (x - shift) * scale in the gathered float.
struct Scaling {
  double scale = 1.0;
  double shift = 0.0;
};

// A handle to shared, immutable samples: copies are cheap and share them. Thread-safe.
class Dataset {
 public:
  // No samples.
  Dataset();
  // Error for a null source.
  explicit Dataset(std::shared_ptr<const SampleSource> source);

  // Copies the samples. ShapeMismatch or DtypeError where they are not uniform.
  static Dataset from_samples(const std::vector<Sample>& samples);
  // Copies the tensors. ShapeMismatch where the lists' lengths differ or the shapes are not uniform; DtypeError.
  static Dataset from_lists(const std::vector<Tensor>& inputs, const std::vector<Tensor>& targets);
  // Rows of axis 0 of two tensors, shared and not copied. Lengths differ: ShapeMismatch; a scalar: InvalidShape.
  static Dataset from_tensors(Tensor inputs, Tensor targets);
  // The same, with the stored inputs (of any type) becoming `input_dtype`, a float, only when they are gathered:
  // computed in double and rounded once. DtypeError for another type.
  static Dataset from_tensors(Tensor inputs, Tensor targets, Scaling scaling, Dtype input_dtype = Dtype::kFloat32);

  std::int64_t size() const { return source_->size(); }
  const SampleSpec& spec() const { return spec_; }
  // Sample i, as a copy; a negative i counts from the end. IndexOutOfBounds outside.
  Sample get(std::int64_t i) const;

  // Samples indices[0], indices[1], … of this dataset, shared and not copied; an index may occur more than once.
  // IndexOutOfBounds outside 0 … size() - 1.
  Dataset subset(std::vector<std::int64_t> indices) const;

  // A batch with room for `size` samples; its contents are zero.
  Batch make_batch(std::int64_t size) const;
  // Gathers samples, 0 … size() - 1 each, into a batch of indices.size() rows; allocates nothing. IndexOutOfBounds,
  // ShapeMismatch or DtypeError before anything is written.
  void gather(std::span<const std::int64_t> indices, const Batch& out) const;

 private:
  std::shared_ptr<const SampleSource> source_;
  SampleSpec spec_;  // kept, so that checking a batch allocates nothing
};

}  // namespace viva::data
