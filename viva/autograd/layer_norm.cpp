#include "viva/autograd/layer_norm.h"

#include <string>

#include "viva/tensor/layer_norm.h"

namespace viva::autograd {

Variable layer_norm(const Variable& x, const Variable& weight, const Variable& bias, double eps) {
  if (x.rank() == 0 || x.shape().back() == 0) {
    throw InvalidShape("layer_norm: expected a last axis of at least 1, got " + to_string(x.shape()));
  }
  const Shape width{x.shape().back()};
  if (weight.shape() != width) throw ShapeMismatch("layer_norm: weight", width, weight.shape());
  if (bias.shape() != width) throw ShapeMismatch("layer_norm: bias", width, bias.shape());
  if (weight.dtype() != x.dtype() || bias.dtype() != x.dtype()) {
    throw DtypeError("layer_norm: expected input, weight and bias of one type, got " + std::string(name_of(x.dtype())) +
                     ", " + std::string(name_of(weight.dtype())) + " and " + std::string(name_of(bias.dtype())));
  }
  const LayerNormShape shape{x.size() / width[0], width[0], eps};
  Tape& tape = x.tape();
  const Tensor y = tape.allocate(x.shape(), x.dtype());
  // (2, rows): means, then scales.
  const Variable statistics = tape.constant(tape.allocate({2, shape.rows}, x.dtype()));
  const auto statistics_of = [shape, statistics](auto type) {
    using T = decltype(type);
    T* const values = statistics.value().mutable_values<T>().data();
    return LayerNormStatistics<T>{values, values + shape.rows};
  };
  visit_floating(x.dtype(), "layer_norm", [&](auto type) {
    using T = decltype(type);
    layer_norm_forward<T>(shape, x.value().values<T>().data(), weight.value().values<T>().data(),
                          bias.value().values<T>().data(), y.mutable_values<T>().data(), statistics_of(type));
  });
  return tape.record(y, {x, weight, bias}, [x, weight, bias, shape, statistics_of](Gradients& gradients) {
    const auto compute = [&](const Tensor& dx, const Tensor& dweight, const Tensor& dbias) {
      visit_floating(x.dtype(), "layer_norm", [&](auto type) {
        using T = decltype(type);
        layer_norm_backward<T>(shape, x.value().values<T>().data(), weight.value().values<T>().data(),
                               statistics_of(type), gradients.output().values<T>().data(),
                               dx.mutable_values<T>().data(), dweight.mutable_values<T>().data(),
                               dbias.mutable_values<T>().data());
      });
    };
    gradients.add_together(compute, x, weight, bias);
  });
}

}  // namespace viva::autograd
