#include "viva/autograd/convolution.h"

#include <algorithm>
#include <string>

#include "viva/autograd/pointwise_kernels.h"
#include "viva/autograd/shape.h"
#include "viva/tensor/channel_blocks.h"
#include "viva/tensor/elementwise.h"

namespace viva::autograd {
namespace {

// An image's shape without blocks, and the length of a block.
struct Image {
  Shape shape;
  std::int64_t block = 1;
};

Image image_of(const Variable& x) {
  const Shape& s = x.shape();
  if (s.size() != 5) return {s, 1};
  return {{s[0], s[1] * s[4], s[2], s[3]}, s[4]};
}

Shape stored(const Shape& image, std::int64_t block) {
  if (block == 1) return image;
  return {image[0], image[1] / block, image[2], image[3], block};
}

// dy = 0 where y, the result of a ReLU, is.
template <typename T>
void through_relu(const Gradients& gradients) {
  relu_backward<T>(gradients.output().mutable_values<T>().data(), gradients.value().values<T>().data(),
                   static_cast<std::size_t>(gradients.output().size()));
}

// The whole shape of a convolution. ShapeMismatch, InvalidShape, DtypeError.
Conv2dShape shape_of_conv(const Variable& x, const Variable& weight, const std::optional<Variable>& bias,
                          Conv2dShape settings) {
  const Image image = image_of(x);
  settings.input_block = image.block;
  settings.bias = bias.has_value();
  settings.precision = x.tape().precision();
  const Conv2dShape s = conv2d_shape(image.shape, weight.shape(), settings);
  if (bias && bias->shape() != Shape{s.out_channels}) {
    throw ShapeMismatch("conv2d: bias (out)", {s.out_channels}, bias->shape());
  }
  if (x.dtype() != weight.dtype() || (bias && bias->dtype() != weight.dtype())) {
    throw DtypeError("conv2d: expected input, weight and bias of one type, got " + std::string(name_of(x.dtype())) +
                     " and " + std::string(name_of(weight.dtype())));
  }
  return s;
}

Pool2dShape shape_of_pool(const Image& image, const Pool2dShape& settings) {
  Pool2dShape shape = pool2d_shape(image.shape, settings);
  shape.channel_block = image.block;
  return shape;
}

// A convolution with its pooling, and the slices of samples that both work on: those of Note [Slices].
struct PooledConvolution {
  Conv2dShape conv;
  Pool2dShape pool;
  bool rectified = false;

  std::int64_t slice_size() const { return std::min(conv.batch, kConv2dSlice); }
  std::int64_t conv_size() const { return conv.out_channels * conv.out_height() * conv.out_width(); }

  // Calls f(slice, sample) for each slice of the batch, which begins at `sample`.
  template <typename F>
  void for_each_slice(F f) const {
    viva::for_each_slice(conv.batch, [&](std::int64_t sample, std::int64_t size) {
      PooledConvolution slice = *this;
      slice.conv.batch = slice.pool.batch = size;
      f(slice, sample);
    });
  }

  std::int64_t in_begin(std::int64_t sample) const { return sample * conv.in_channels * conv.height * conv.width; }
  std::int64_t out_begin(std::int64_t sample) const {
    return sample * pool.channels * pool.out_height() * pool.out_width();
  }
};

template <typename T>
void forward(const PooledConvolution& p, const T* x, const T* weight, const T* bias, T* y, std::uint16_t* places,
             Arena& arena) {
  const Arena::Scope scope(arena);
  T* const convolved = arena.allocate<T>(static_cast<std::size_t>(p.slice_size() * p.conv_size())).data();
  p.for_each_slice([&](const PooledConvolution& slice, std::int64_t sample) {
    conv2d_forward<T>(slice.conv, x + p.in_begin(sample), weight, bias, convolved, arena);
    max_pool2d_forward<T>(slice.pool, convolved, y + p.out_begin(sample), places + p.out_begin(sample));
  });
}

// dx may be null; dbias is where there is no bias.
template <typename T>
void pooled_backward(const PooledConvolution& p, const T* x, const T* weight, const T* dy, const std::uint16_t* places,
                     T* dx, T* dweight, T* dbias, Arena& arena) {
  const Arena::Scope scope(arena);
  const auto weights = static_cast<std::size_t>(element_count(p.conv.weight_shape()));
  const auto biases = static_cast<std::size_t>(dbias == nullptr ? 0 : p.conv.out_channels);
  T* const dconvolved = arena.allocate<T>(static_cast<std::size_t>(p.slice_size() * p.conv_size())).data();
  T* const weight_part = arena.allocate<T>(weights).data();
  T* const bias_part = dbias == nullptr ? nullptr : arena.allocate<T>(biases).data();
  std::fill_n(dweight, weights, T{0});
  std::fill_n(dbias, biases, T{0});
  p.for_each_slice([&](const PooledConvolution& slice, std::int64_t sample) {
    max_pool2d_backward<T>(slice.pool, dy + p.out_begin(sample), places + p.out_begin(sample), dconvolved);
    conv2d_backward_weights<T>(slice.conv, x + p.in_begin(sample), dconvolved, weight_part, bias_part, arena);
    for (std::size_t i = 0; i < weights; ++i) dweight[i] += weight_part[i];
    for (std::size_t i = 0; i < biases; ++i) dbias[i] += bias_part[i];
    if (dx != nullptr) conv2d_backward_data<T>(slice.conv, dconvolved, weight, dx + p.in_begin(sample), arena);
  });
}

Variable average(const Variable& x, const Pool2dShape& shape) {
  Tape& tape = x.tape();
  const Tensor y = tape.allocate(stored(shape.output_shape(), shape.channel_block), x.dtype());
  visit_floating(x.dtype(), "average_pool2d", [&](auto type) {
    using T = decltype(type);
    average_pool2d_forward<T>(shape, x.value().values<T>().data(), y.mutable_values<T>().data());
  });
  return tape.record(y, {x}, [x, shape](Gradients& gradients) {
    gradients.add(x, [&](const Tensor& out) {
      visit_floating(out.dtype(), "average_pool2d", [&](auto type) {
        using T = decltype(type);
        average_pool2d_backward<T>(shape, gradients.output().values<T>().data(), out.mutable_values<T>().data());
      });
    });
  });
}

}  // namespace

Variable conv2d(const Variable& x, const Variable& weight, const std::optional<Variable>& bias,
                const Conv2dShape& settings) {
  const Conv2dShape s = shape_of_conv(x, weight, bias, settings);
  Tape& tape = x.tape();
  const Tensor y = tape.allocate(stored(s.output_shape(), s.output_block), x.dtype());
  visit_floating(x.dtype(), "conv2d", [&](auto type) {
    using T = decltype(type);
    conv2d_forward<T>(s, x.value().values<T>().data(), weight.value().values<T>().data(),
                      bias ? bias->value().values<T>().data() : nullptr, y.mutable_values<T>().data(), tape.arena());
  });
  const Variable offset = bias ? *bias : tape.constant({});
  return tape.record(y, {x, weight, offset}, [x, weight, offset, s](Gradients& gradients) {
    visit_floating(x.dtype(), "conv2d", [&](auto type) {
      using T = decltype(type);
      Arena& arena = gradients.arena();
      if (s.relu) through_relu<T>(gradients);
      const T* const dy = gradients.output().values<T>().data();
      const auto compute = [&](const Tensor& dweight, const Tensor& dbias) {
        conv2d_backward_weights<T>(s, x.value().values<T>().data(), dy, dweight.mutable_values<T>().data(),
                                   s.bias ? dbias.mutable_values<T>().data() : nullptr, arena);
      };
      gradients.add_together(compute, weight, offset);
      gradients.add(x, [&](const Tensor& dx) {
        conv2d_backward_data<T>(s, dy, weight.value().values<T>().data(), dx.mutable_values<T>().data(), arena);
      });
    });
  });
}

Variable max_pool2d(const Variable& x, const Pool2dShape& settings, Activation activation) {
  const Pool2dShape shape = shape_of_pool(image_of(x), settings);
  Tape& tape = x.tape();
  const Tensor y = tape.allocate(stored(shape.output_shape(), shape.channel_block), x.dtype());
  const auto places = tape.arena().allocate<std::uint16_t>(static_cast<std::size_t>(y.size()));
  visit_floating(x.dtype(), "max_pool2d", [&](auto type) {
    using T = decltype(type);
    max_pool2d_forward<T>(shape, x.value().values<T>().data(), y.mutable_values<T>().data(), places.data());
  });
  const bool rectified = activation == Activation::kRelu;
  if (rectified) unary(Unary::kRelu, 0, y, y, nullptr);
  return tape.record(y, {x}, [x, shape, rectified, places = places.data()](Gradients& gradients) {
    gradients.add(x, [&](const Tensor& out) {
      visit_floating(out.dtype(), "max_pool2d", [&](auto type) {
        using T = decltype(type);
        if (rectified) through_relu<T>(gradients);
        max_pool2d_backward<T>(shape, gradients.output().values<T>().data(), places, out.mutable_values<T>().data());
      });
    });
  });
}

Variable conv2d_max_pool2d(const Variable& x, const Variable& weight, const std::optional<Variable>& bias,
                           const Conv2dShape& settings, const Pool2dShape& pool, Activation activation) {
  PooledConvolution p{shape_of_conv(x, weight, bias, settings), {}, activation == Activation::kRelu};
  if (p.conv.relu) throw InvalidShape("conv2d_max_pool2d: the ReLU comes behind the pooling");
  p.pool = shape_of_pool({p.conv.output_shape(), p.conv.output_block}, pool);
  Tape& tape = x.tape();
  const Tensor y = tape.allocate(stored(p.pool.output_shape(), p.pool.channel_block), x.dtype());
  const auto places = tape.arena().allocate<std::uint16_t>(static_cast<std::size_t>(y.size()));
  visit_floating(x.dtype(), "conv2d_max_pool2d", [&](auto type) {
    using T = decltype(type);
    forward<T>(p, x.value().values<T>().data(), weight.value().values<T>().data(),
               bias ? bias->value().values<T>().data() : nullptr, y.mutable_values<T>().data(), places.data(),
               tape.arena());
  });
  if (p.rectified) unary(Unary::kRelu, 0, y, y, nullptr);
  const Variable offset = bias ? *bias : tape.constant({});
  return tape.record(y, {x, weight, offset}, [x, weight, offset, p, places = places.data()](Gradients& gradients) {
    visit_floating(x.dtype(), "conv2d_max_pool2d", [&](auto type) {
      using T = decltype(type);
      if (p.rectified) through_relu<T>(gradients);
      const auto compute = [&](T* dx, const Tensor& dweight, const Tensor& dbias) {
        pooled_backward<T>(p, x.value().values<T>().data(), weight.value().values<T>().data(),
                           gradients.output().values<T>().data(), places, dx, dweight.mutable_values<T>().data(),
                           p.conv.bias ? dbias.mutable_values<T>().data() : nullptr, gradients.arena());
      };
      // The gradient of an image that nobody asks for is not worth its time.
      if (!x.requires_grad()) {
        return gradients.add_together([&](const Tensor& dw, const Tensor& db) { compute(nullptr, dw, db); }, weight,
                                      offset);
      }
      gradients.add_together(
          [&](const Tensor& dx, const Tensor& dw, const Tensor& db) { compute(dx.mutable_values<T>().data(), dw, db); },
          x, weight, offset);
    });
  });
}

Variable average_pool2d(const Variable& x, const Pool2dShape& settings) {
  return average(x, shape_of_pool(image_of(x), settings));
}

Variable global_average_pool2d(const Variable& x) {
  const Image image = image_of(x);
  Pool2dShape shape = global_pool2d_shape(image.shape);
  shape.channel_block = image.block;
  return reshape(average(x, shape), {shape.batch, shape.channels});
}

Variable from_channel_blocks(const Variable& x) {
  const Image image = image_of(x);
  if (image.block == 1) return x;
  Tape& tape = x.tape();
  const Tensor y = tape.allocate(image.shape, x.dtype());
  visit_floating(x.dtype(), "from_channel_blocks", [&](auto type) {
    using T = decltype(type);
    viva::from_channel_blocks<T>(image.shape, image.block, x.value().values<T>().data(), y.mutable_values<T>().data());
  });
  return tape.record(y, {x}, [x, block = image.block](Gradients& gradients) {
    gradients.add(x, [&](const Tensor& out) {
      visit_floating(out.dtype(), "from_channel_blocks", [&](auto type) {
        using T = decltype(type);
        to_channel_blocks<T>(gradients.output().shape(), block, gradients.output().values<T>().data(),
                             out.mutable_values<T>().data());
      });
    });
  });
}

}  // namespace viva::autograd
