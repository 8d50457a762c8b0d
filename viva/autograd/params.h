// Params: what a loss function sees of the model and of the step.
#pragma once

#include <span>
#include <string_view>

#include "viva/autograd/tape.h"
#include "viva/data/step_context.h"
#include "viva/optim/param.h"

namespace viva::autograd {

// The parameters as Variables on one tape; buffers are constants. Cheap to copy; valid as long as the tape. Used by one
// thread.
class Params {
 public:
  Params(Tape& tape, const StepContext& context, std::span<const Param> params);

  std::size_t size() const { return params_.size(); }
  // By number, or by name in a search through all of them. IndexOutOfBounds; DimensionError for an unknown name.
  const Variable& operator[](std::size_t i) const;
  const Variable& operator[](std::string_view name) const;
  const std::string& name(std::size_t i) const { return params_[i].name; }
  ParamRole role(std::size_t i) const { return params_[i].role; }

  // What this batch adds to buffer number i, whose role is kBuffer: a tensor of its shape. Does nothing where no
  // gradients are taken.
  void give_statistic(std::size_t i, const Tensor& statistic) const;

  // A tensor without a gradient: the batch's inputs, a mask.
  Variable constant(const Tensor& value) const { return tape_->constant(value); }

  const StepContext& context() const { return *context_; }
  bool training() const { return context_->mode == Mode::kTraining; }
  Tape& tape() const { return *tape_; }

 private:
  Tape* tape_;
  const StepContext* context_;
  std::span<const Param> params_;
  std::span<Variable> variables_;
};

}  // namespace viva::autograd
