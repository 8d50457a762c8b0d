// GradSink: where a callback puts a batch's gradients.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "viva/optim/layout.h"

namespace viva {

// Views of one flat gradient buffer, one a parameter, in the parameters' order. A parameter that is a buffer takes its
// batch's statistic there. Used by one thread at a time.
class GradSink {
 public:
  // `buffer` has the layout's size; the layout must outlive the sink.
  GradSink(const optim::Layout& layout, const Tensor& buffer);

  // The view for parameter i, or by name, marked as given. Its content is unspecified (an earlier batch's): write every
  // element. IndexOutOfBounds; DimensionError for an unknown name.
  const Tensor& grad(std::size_t i);
  const Tensor& grad(std::string_view name);

  // Copies `gradient` in. DimensionError for an unknown name; ShapeMismatch, DtypeError.
  void set(std::string_view name, const Tensor& gradient);

  // Asks that training end after this step, which is applied: on every executor, whoever asks.
  void request_stop() { stop_requested_ = true; }
  bool stop_requested() const { return stop_requested_; }

  std::size_t size() const { return views_.size(); }
  bool given(std::size_t i) const { return given_[i] != 0; }
  // Forgets what was given or asked; the buffer's content stays.
  void clear();

 private:
  std::size_t index_of(std::string_view name) const;

  const optim::Layout* layout_;
  std::vector<Tensor> views_;
  std::vector<char> given_;
  bool stop_requested_ = false;
};

}  // namespace viva
