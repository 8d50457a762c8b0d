#include "viva/autograd/attention.h"

#include <fmt/format.h>

#include "viva/tensor/attention.h"

namespace viva::autograd {

Variable causal_attention(const Variable& qkv, std::int64_t heads) {
  if (qkv.rank() != 3) {
    throw ShapeMismatch("causal_attention: queries, keys and values (batch, length, 3·channels)", {-1, -1, -1},
                        qkv.shape());
  }
  if (heads < 1 || qkv.shape()[2] % (3 * heads) != 0) {
    throw InvalidShape(fmt::format("causal_attention: expected a last axis of 3·{} heads times their size, got {}",
                                   heads, to_string(qkv.shape())));
  }
  const AttentionShape shape{qkv.shape()[0], qkv.shape()[1], heads, qkv.shape()[2] / (3 * heads)};
  Tape& tape = qkv.tape();
  const Tensor y = tape.allocate({shape.batch, shape.length, shape.channels()}, qkv.dtype());
  const Variable weights = tape.constant(tape.allocate({shape.batch, heads, shape.length, shape.length}, qkv.dtype()));
  visit_floating(qkv.dtype(), "causal_attention", [&](auto type) {
    using T = decltype(type);
    causal_attention_forward<T>(shape, qkv.value().values<T>().data(), weights.value().mutable_values<T>().data(),
                                y.mutable_values<T>().data(), tape.arena());
  });
  return tape.record(y, {qkv}, [qkv, weights, shape](Gradients& gradients) {
    gradients.add(qkv, [&](const Tensor& out) {
      visit_floating(out.dtype(), "causal_attention", [&](auto type) {
        using T = decltype(type);
        causal_attention_backward<T>(shape, qkv.value().values<T>().data(), weights.value().values<T>().data(),
                                     gradients.output().values<T>().data(), out.mutable_values<T>().data(),
                                     gradients.arena());
      });
    });
  });
}

}  // namespace viva::autograd
