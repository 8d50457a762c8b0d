#include "viva/autograd/convolution.h"

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

Pool2dShape shape_of_pool(const Image& image, const Pool2dShape& settings) {
  Pool2dShape shape = pool2d_shape(image.shape, settings);
  shape.channel_block = image.block;
  return shape;
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
  const Image image = image_of(x);
  Conv2dShape given = settings;
  given.input_block = image.block;
  given.bias = bias.has_value();
  const Conv2dShape s = conv2d_shape(image.shape, weight.shape(), given);
  if (bias && bias->shape() != Shape{s.out_channels}) {
    throw ShapeMismatch("conv2d: bias (out)", {s.out_channels}, bias->shape());
  }
  if (x.dtype() != weight.dtype() || (bias && bias->dtype() != weight.dtype())) {
    throw DtypeError("conv2d: expected input, weight and bias of one type, got " + std::string(name_of(x.dtype())) +
                     " and " + std::string(name_of(weight.dtype())));
  }
  Tape& tape = x.tape();
  const Tensor y = tape.allocate(stored(s.output_shape(), s.output_block), x.dtype());
  visit_floating(x.dtype(), "conv2d", [&](auto type) {
    using T = decltype(type);
    conv2d_forward<T>(s, x.value().values<T>().data(), weight.value().values<T>().data(),
                      bias ? bias->value().values<T>().data() : nullptr, y.mutable_values<T>().data(), tape.arena());
  });
  const Variable offset = bias.value_or(weight);
  return tape.record(y, {x, weight, offset}, [x, weight, offset, s](Gradients& gradients) {
    visit_floating(x.dtype(), "conv2d", [&](auto type) {
      using T = decltype(type);
      Arena& arena = gradients.arena();
      if (s.relu) through_relu<T>(gradients);
      const T* const dy = gradients.output().values<T>().data();
      // One kernel computes the gradients of weight and bias. Where only one of them is wanted, the other is scratch.
      if (weight.requires_grad() || (s.bias && offset.requires_grad())) {
        const auto with_bias = [&](const Tensor& dw, T* db) {
          conv2d_backward_weights<T>(s, x.value().values<T>().data(), dy, dw.mutable_values<T>().data(), db, arena);
        };
        const Tensor db = s.bias ? Tensor::in(arena, {s.out_channels}, x.dtype()) : Tensor();
        T* const db_values = s.bias ? db.mutable_values<T>().data() : nullptr;
        if (weight.requires_grad()) {
          gradients.add(weight, [&](const Tensor& dw) { with_bias(dw, db_values); });
        } else {
          with_bias(Tensor::in(arena, weight.shape(), x.dtype()), db_values);
        }
        if (s.bias) gradients.add(offset, [&](const Tensor& out) { copy(db, out); });
      }
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
