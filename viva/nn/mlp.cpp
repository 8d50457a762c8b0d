#include "viva/nn/mlp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "viva/tensor/elementwise.h"
#include "viva/tensor/kernel_scope.h"
#include "viva/tensor/matmul.h"
#include "viva/tensor/random.h"
#include "viva/tensor/reduce.h"
#include "viva/tensor/softmax.h"

namespace viva::nn {
namespace {

// The sizes of layer `l`: weight (out, in), bias (out).
struct Layer {
  std::int64_t in, out;
  bool last;
};

Layer layer_of(const std::vector<std::int64_t>& sizes, std::size_t l) {
  return {sizes[l], sizes[l + 1], l + 2 == sizes.size()};
}

template <typename T>
const T* weight_of(std::span<const Param> params, std::size_t l) {
  return params[2 * l].value.values<T>().data();
}

template <typename T>
const T* bias_of(std::span<const Param> params, std::size_t l) {
  return params[2 * l + 1].value.values<T>().data();
}

void check_params(const std::vector<std::int64_t>& sizes, std::span<const Param> params) {
  const std::size_t layers = sizes.size() - 1;
  if (params.size() != 2 * layers) {
    throw DimensionError(fmt::format("Mlp: expected {} parameters, got {}", 2 * layers, params.size()));
  }
  for (std::size_t l = 0; l < layers; ++l) {
    const Layer layer = layer_of(sizes, l);
    const Shape &weight = params[2 * l].value.shape(), &bias = params[2 * l + 1].value.shape();
    // Compared by hand: this runs for every batch, and a Shape to compare with would be an allocation.
    if (weight.size() != 2 || weight[0] != layer.out || weight[1] != layer.in) {
      throw ShapeMismatch("Mlp: parameter '" + params[2 * l].name + "'", {layer.out, layer.in}, weight);
    }
    if (bias.size() != 1 || bias[0] != layer.out) {
      throw ShapeMismatch("Mlp: parameter '" + params[2 * l + 1].name + "'", {layer.out}, bias);
    }
  }
}

void check_batch(const std::vector<std::int64_t>& sizes, const data::Batch& batch) {
  const std::int64_t n = batch.size();
  if (batch.inputs.size() != n * sizes.front()) {
    throw ShapeMismatch("Mlp: inputs, flattened", {n, sizes.front()}, batch.inputs.shape());
  }
  if (batch.targets.size() != n) throw ShapeMismatch("Mlp: targets", {n}, batch.targets.shape());
}

// The input and what each layer puts out, the last one the logits: activations[l] is (n, sizes[l]).
template <typename T>
std::span<const T*> forward(const std::vector<std::int64_t>& sizes, const data::Batch& batch,
                            std::span<const Param> params, Arena& arena) {
  const auto activations = arena.allocate<const T*>(sizes.size());
  activations[0] = batch.inputs.values<T>().data();
  for (std::size_t l = 0; l + 1 < sizes.size(); ++l) {
    const Layer layer = layer_of(sizes, l);
    MatmulShape shape{batch.size(), layer.in, layer.out};
    shape.transpose_b = true;
    shape.bias = true;
    shape.relu = !layer.last;
    T* out = arena.allocate<T>(static_cast<std::size_t>(batch.size() * layer.out)).data();
    matmul<T>(shape, activations[l], weight_of<T>(params, l), bias_of<T>(params, l), out, arena);
    activations[l + 1] = out;
  }
  return activations;
}

template <typename T>
double loss_and_grads_typed(const std::vector<std::int64_t>& sizes, const data::Batch& batch,
                            std::span<const Param> params, GradSink& grads, Arena& arena) {
  const std::int64_t n = batch.size();
  const auto activations = forward<T>(sizes, batch, params, arena);
  const std::int64_t classes = sizes.back();
  // The gradient with respect to a layer's output before its ReLU: (n, out).
  T* delta = arena.allocate<T>(static_cast<std::size_t>(n * classes)).data();
  const double loss = softmax_cross_entropy<T>(activations.back(), batch.targets.values<std::int32_t>(), classes, delta,
                                               static_cast<T>(1.0 / static_cast<double>(n)), arena);
  for (std::size_t l = sizes.size() - 1; l-- > 0;) {
    const Layer layer = layer_of(sizes, l);
    MatmulShape weight_grad{layer.out, n, layer.in};
    weight_grad.transpose_a = true;
    matmul<T>(weight_grad, delta, activations[l], nullptr, grads.grad(2 * l).mutable_values<T>().data(), arena);
    column_sums<T>(grads.grad(2 * l + 1).mutable_values<T>().data(), delta, n, layer.out);
    if (l == 0) break;
    const auto below = arena.allocate<T>(static_cast<std::size_t>(n * layer.in));
    matmul<T>({n, layer.out, layer.in}, delta, weight_of<T>(params, l), nullptr, below.data(), arena);
    relu_backward<T>(below.data(), activations[l], below.size());
    delta = below.data();
  }
  return loss / static_cast<double>(n);
}

}  // namespace

Mlp::Mlp(std::vector<std::int64_t> sizes) : sizes_(std::move(sizes)) {
  if (sizes_.size() < 2 || std::ranges::any_of(sizes_, [](std::int64_t s) { return s < 1; })) {
    throw InvalidShape("Mlp: expected at least two sizes, each at least 1, got " + to_string(Shape(sizes_.begin(), sizes_.end())));
  }
}

std::vector<Param> Mlp::initial_params(std::uint64_t seed, Dtype dtype) const {
  const KernelScope scope;
  std::vector<Param> params;
  for (std::size_t l = 0; l + 1 < sizes_.size(); ++l) {
    const Layer layer = layer_of(sizes_, l);
    const double bound = 1.0 / std::sqrt(static_cast<double>(layer.in));
    const auto add = [&](const char* what, Shape shape) {
      const RandomStream random(seed, RandomPurpose::kInitialize, static_cast<std::uint32_t>(params.size()));
      Tensor value = Tensor::zeros(std::move(shape), dtype);
      visit_floating(dtype, "Mlp", [&](auto type) {
        std::uint64_t element = 0;
        for (auto& x : value.mutable_values<decltype(type)>()) {
          x = static_cast<decltype(type)>((2 * random.uniform(element++) - 1) * bound);
        }
      });
      params.push_back({fmt::format("layers.{}.{}", l, what), value});
    };
    add("weight", {layer.out, layer.in});
    add("bias", {layer.out});
  }
  return params;
}

double Mlp::loss_and_grads(const StepContext& context, const data::Batch& batch, std::span<const Param> params,
                           GradSink& grads) const {
  const KernelScope scope;
  check_params(sizes_, params);
  check_batch(sizes_, batch);
  return visit_floating(params.front().value.dtype(), "Mlp", [&](auto type) {
    return loss_and_grads_typed<decltype(type)>(sizes_, batch, params, grads, context.arena);
  });
}

Mlp::Evaluation Mlp::evaluate(const data::Batch& batch, std::span<const Param> params, Arena& arena) const {
  const KernelScope scope;
  check_params(sizes_, params);
  check_batch(sizes_, batch);
  return visit_floating(params.front().value.dtype(), "Mlp", [&](auto type) {
    using T = decltype(type);
    const T* logits = forward<T>(sizes_, batch, params, arena).back();
    const auto labels = batch.targets.values<std::int32_t>();
    Evaluation evaluation;
    const std::int64_t classes = sizes_.back();
    evaluation.loss = softmax_cross_entropy<T>(logits, labels, classes, nullptr, T{1}, arena) /
                      static_cast<double>(std::max<std::int64_t>(batch.size(), 1));
    for (std::size_t r = 0; r < labels.size(); ++r) {
      const T* row = logits + static_cast<std::int64_t>(r) * classes;
      evaluation.correct += std::max_element(row, row + classes) - row == labels[r] ? 1 : 0;
    }
    return evaluation;
  });
}

}  // namespace viva::nn
