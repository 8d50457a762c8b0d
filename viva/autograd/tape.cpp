#include "viva/autograd/tape.h"

#include <algorithm>

#include "viva/autograd/pointwise_kernels.h"

namespace viva::autograd {

Arena& Gradients::arena() const { return tape_->arena(); }

Gradients::Contribution Gradients::begin(Node& x) {
  if (x.has_grad) return {tape_->take_gradient(x.value), &x};
  x.has_grad = true;
  x.grad = x.param >= 0 ? tape_->sink_->grad(static_cast<std::size_t>(x.param)) : tape_->take_gradient(x.value);
  return {x.grad};
}

Gradients::Contribution Gradients::begin_last(Node& x) {
  if (x.has_grad || x.param >= 0) return begin(x);
  x.has_grad = true;
  x.grad = node_->grad.reshape(x.value.shape());
  node_->grad_passed_on = true;
  return {x.grad};
}

Gradients::Contribution Gradients::begin_or_scratch(const Variable& x) {
  if (x.requires_grad()) return begin(*x.node_);
  return {tape_->allocate(x.shape(), x.dtype())};
}

void Gradients::end(const Contribution& contribution) {
  if (contribution.added_to == nullptr) return;
  add_to(contribution.added_to->grad, contribution.out);
  Node& aside = tape_->append({});
  aside.grad = contribution.out;
  tape_->give_back(aside);
}

Tape::~Tape() {
  while (last_ != nullptr) {
    Node* node = last_;
    last_ = node->previous;
    node->~Node();
  }
}

Node& Tape::append(Tensor value) {
  last_ = new (arena_->allocate<Node>(1).data()) Node{.value = std::move(value), .grad = {}, .previous = last_};
  return *last_;
}

Tensor Tape::take_gradient(const Tensor& value) {
  for (Node** at = &spare_; *at != nullptr; at = &(*at)->next_spare) {
    const Tensor& grad = (*at)->grad;
    if (grad.size() != value.size() || grad.dtype() != value.dtype()) continue;
    *at = (*at)->next_spare;
    return grad.reshape(value.shape());
  }
  return allocate(value.shape(), value.dtype());
}

void Tape::give_back(Node& node) {
  node.next_spare = spare_;
  spare_ = &node;
}

Variable Tape::constant(const Tensor& value) { return {*this, append(value)}; }

Variable Tape::parameter(const Tensor& value, std::size_t param) {
  Node& node = append(value);
  node.param = static_cast<std::int64_t>(param);
  node.requires_grad = sink_ != nullptr;
  return {*this, node};
}

bool Tape::records(std::initializer_list<Variable> operands) const {
  return std::any_of(operands.begin(), operands.end(), [](const Variable& x) { return x.requires_grad(); });
}

void Tape::backward(const Variable& loss) {
  if (loss.size() != 1) throw InvalidShape("backward: expected a loss of one number, got " + to_string(loss.shape()));
  Node& root = *loss.node_;
  if (!root.requires_grad) return;
  Gradients(*this, root).add(loss, [](const Tensor& out) { fill(out, 1.0); });
  for (Node* node = last_; node != nullptr; node = node->previous) {
    if (!node->has_grad || node->backward == nullptr) continue;
    Gradients gradients(*this, *node);
    node->backward(node->closure, gradients);
    if (node->param < 0 && !node->grad_passed_on) give_back(*node);
  }
}

}  // namespace viva::autograd
