// Tape and Variable: a record of the operations of one loss, and the gradients that follow from it in reverse.
//
// Source: reverse mode, Linnainmaa (1976); the record is made while the loss is computed.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include "viva/optim/grad_sink.h"
#include "viva/tensor/arena.h"
#include "viva/tensor/precision.h"
#include "viva/tensor/tensor.h"

namespace viva::autograd {

class Tape;
class Gradients;

// A value on the tape. `backward` adds the gradient's share to the nodes that the value was made of.
struct Node {
  Tensor value;
  Tensor grad;  // of the loss with respect to `value`, once there is one
  Node* previous = nullptr;
  Node* next_spare = nullptr;  // in the tape's list of gradients whose memory may be used again
  void (*backward)(const void* closure, Gradients& gradients) = nullptr;
  const void* closure = nullptr;
  std::int64_t param = -1;  // its number, where the node is a parameter
  bool requires_grad = false;
  bool has_grad = false;
  bool grad_passed_on = false;  // its memory is an operand's gradient now
};

// Refers to a value on a tape: cheap to copy, valid as long as the tape. Operations on it are free functions
// (viva/autograd/*.h), which throw ShapeMismatch, BroadcastError, InvalidShape or DtypeError where operands do not fit.
class Variable {
 public:
  Variable(Tape& tape, Node& node) : tape_(&tape), node_(&node) {}

  const Tensor& value() const { return node_->value; }
  const Shape& shape() const { return node_->value.shape(); }
  std::int64_t size() const { return node_->value.size(); }
  std::size_t rank() const { return node_->value.rank(); }
  Dtype dtype() const { return node_->value.dtype(); }
  // Whether the loss's gradient with respect to this value is asked for.
  bool requires_grad() const { return node_->requires_grad; }
  Tape& tape() const { return *tape_; }

 private:
  friend class Tape;
  friend class Gradients;
  Tape* tape_;
  Node* node_;
};

// What a node's backward function works with.
class Gradients {
 public:
  // The gradient of the loss with respect to the node's value: (the value's shape).
  const Tensor& output() const { return node_->grad; }
  const Tensor& value() const { return node_->value; }
  Arena& arena() const;

  // Adds to the gradient of `x` where one is wanted: fill(out) writes the whole contribution, in the shape of x, over
  // whatever `out` holds.
  template <typename F>
  void add(const Variable& x, F&& fill) {
    if (!x.requires_grad()) return;
    const Contribution to_x = begin(*x.node_);
    fill(to_x.out);
    end(to_x);
  }
  // The same for several operands, where one kernel computes what all of them get: fill(out, …), with scratch memory
  // for those whose gradient nobody wants. Does nothing where that is all of them.
  template <typename F, std::same_as<Variable>... Variables>
  void add_together(F&& fill, const Variables&... xs) {
    if (!(xs.requires_grad() || ...)) return;
    // Braces keep the order: a variable may stand here twice.
    const std::array<Contribution, sizeof...(xs)> contributions{begin_or_scratch(xs)...};
    std::apply([&](const auto&... each) { fill(each.out...); }, contributions);
    for (const Contribution& contribution : contributions) end(contribution);
  }
  // The same, for an `x` as large as the output, where fill may write over output() itself while it reads the same
  // place: saves memory. output() is used up: no add may follow.
  template <typename F>
  void add_last(const Variable& x, F&& fill) {
    if (!x.requires_grad()) return;
    const Contribution to_x = begin_last(*x.node_);
    fill(to_x.out);
    end(to_x);
  }

 private:
  friend class Tape;
  Gradients(Tape& tape, Node& node) : tape_(&tape), node_(&node) {}

  // What an operation adds to a gradient: written into the gradient itself where it is the first, else aside.
  struct Contribution {
    Tensor out;
    Node* added_to = nullptr;  // the node whose gradient it is to be added to, if it stands aside
  };
  Contribution begin(Node& x);
  Contribution begin_last(Node& x);
  Contribution begin_or_scratch(const Variable& x);
  void end(const Contribution& contribution);

  Tape* tape_;
  Node* node_;
};

// Holds the values of one evaluation in the memory of an arena, which must outlive it and not be reset meanwhile.
// Used by one thread.
class Tape {
 public:
  // Records what is needed for backward() only where there is a sink. `precision` is that of matrix products and
  // convolutions.
  Tape(Arena& arena, GradSink* sink, Precision precision = Precision::kF32)
      : arena_(&arena), sink_(sink), precision_(precision) {}
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  Arena& arena() { return *arena_; }
  // Null where no gradients are taken.
  GradSink* sink() { return sink_; }
  Precision precision() const { return precision_; }

  // A value without a gradient.
  Variable constant(const Tensor& value);
  // Parameter number `param` of the sink.
  Variable parameter(const Tensor& value, std::size_t param);

  // A new tensor for an operation's result.
  Tensor allocate(Shape shape, Dtype dtype) { return Tensor::in(*arena_, std::move(shape), dtype); }
  // Whether an operation on these operands will need its gradient.
  bool records(std::initializer_list<Variable> operands) const;

  // The result of an operation. backward(Gradients&) is kept until the tape ends and then forgotten: it captures
  // Variables, numbers and pointers into the arena, nothing that has to be destroyed.
  template <typename F>
  Variable record(Tensor value, std::initializer_list<Variable> operands, F backward) {
    static_assert(std::is_trivially_destructible_v<F>, "the closure's destructor would never run");
    Node& node = append(std::move(value));
    if (records(operands)) {
      node.requires_grad = true;
      node.closure = new (arena_->allocate<F>(1).data()) F(std::move(backward));
      node.backward = [](const void* closure, Gradients& gradients) { (*static_cast<const F*>(closure))(gradients); };
    }
    return {*this, node};
  }

  // Computes the gradients of `loss`, a single number on this tape, into the sink; those of parameters that the loss
  // does not depend on stay ungiven. At most once. InvalidShape where the loss is no single number.
  void backward(const Variable& loss);

 private:
  friend class Gradients;
  Node& append(Tensor value);
  // Memory for a gradient of `value`: a spare one of its size, which is still in the cache, or new.
  Tensor take_gradient(const Tensor& value);
  void give_back(Node& node);

  Arena* arena_;
  GradSink* sink_;
  Precision precision_;
  Node* last_ = nullptr;
  Node* spare_ = nullptr;
};

}  // namespace viva::autograd
