#include "viva/tensor/dnnl_conv2d.h"

#include <algorithm>
#include <optional>
#include <type_traits>

#include "viva/tensor/dnnl_execution.h"
#include "viva/tensor/kernel_scope.h"
#include "viva/tensor/tensor.h"

namespace viva {
namespace {

using dnnl::memory;
using Forward = dnnl::convolution_forward;
using BackwardData = dnnl::convolution_backward_data;
using BackwardWeights = dnnl::convolution_backward_weights;

memory::desc describe_memory(const memory::dims& dims, memory::format_tag tag,
                             memory::data_type type = memory::data_type::f32) {
  return {dims, type, tag};
}

memory::desc image(const memory::dims& dims, std::int64_t block) {
  const auto tag = block == 16  ? memory::format_tag::nChw16c
                   : block == 8 ? memory::format_tag::nChw8c
                                : memory::format_tag::nchw;
  return describe_memory(dims, tag);
}

// A convolution in oneDNN's words: layouts at the interface, and layouts that the kernel may choose, as operands, which
// may be bfloat16, and as results.
struct Problem {
  memory::desc input, weight, bias, output;
  memory::desc any_input, any_weight, any_output;
  memory::desc result_input, result_weight, result_output;
  memory::dims strides, dilations, padding;

  explicit Problem(const Conv2dShape& s)
      : strides{s.stride_h, s.stride_w},
        dilations{s.dilation_h - 1, s.dilation_w - 1},
        padding{s.padding_h, s.padding_w} {
    const memory::dims in{s.batch, s.in_channels, s.height, s.width};
    const memory::dims out{s.batch, s.out_channels, s.out_height(), s.out_width()};
    memory::dims kernel{s.out_channels, s.in_channels / s.groups, s.kernel_h, s.kernel_w};
    if (s.groups > 1) kernel = {s.groups, s.out_channels / s.groups, s.in_channels / s.groups, s.kernel_h, s.kernel_w};
    input = image(in, s.input_block);
    output = image(out, s.output_block);
    weight = describe_memory(kernel, s.groups > 1 ? memory::format_tag::goihw : memory::format_tag::oihw);
    if (s.bias) bias = describe_memory({s.out_channels}, memory::format_tag::x);
    constexpr auto kAny = memory::format_tag::any;
    const auto type = s.precision == Precision::kBf16 ? memory::data_type::bf16 : memory::data_type::f32;
    any_input = describe_memory(in, kAny, type);
    any_output = describe_memory(out, kAny, type);
    any_weight = describe_memory(kernel, kAny, type);
    result_input = describe_memory(in, kAny);
    result_output = describe_memory(out, kAny);
    result_weight = describe_memory(kernel, kAny);
  }
};

// The primitive's descriptor, empty where there is no kernel; `hint` is the forward descriptor that a backward one
// asks for. oneDNN 2 describes an operation before it makes the primitive's descriptor; 3 does both at once.
template <typename Primitive, typename... Hint>
typename Primitive::primitive_desc describe_convolution(const Problem& p, dnnl::algorithm algorithm,
                                                        const dnnl::primitive_attr& attributes, const Hint&... hint) {
  const auto with = [&](auto... operands) -> typename Primitive::primitive_desc {
#if DNNL_VERSION_MAJOR >= 3
    return {cpu_engine(), operands..., p.strides, p.dilations, p.padding, p.padding, hint..., attributes, true};
#else
    return {{operands..., p.strides, p.dilations, p.padding, p.padding}, attributes, cpu_engine(), hint..., true};
#endif
  };
  if constexpr (std::is_same_v<Primitive, Forward>) {
    return with(dnnl::prop_kind::forward_training, algorithm, p.any_input, p.any_weight, p.bias, p.result_output);
  } else if constexpr (std::is_same_v<Primitive, BackwardData>) {
    return with(algorithm, p.result_input, p.any_weight, p.any_output);
  } else {
    return with(algorithm, p.any_input, p.result_weight, p.bias, p.any_output);
  }
}

// Winograd's descriptor where it is wanted and exists, else the direct algorithm's.
template <typename Primitive, typename... Hint>
typename Primitive::primitive_desc choose(const Conv2dShape& s, const Problem& p,
                                          const dnnl::primitive_attr& attributes, const Hint&... hint) {
  if (DNNL_VERSION_MAJOR < 3 && s.algorithm == Conv2dAlgorithm::kWinograd && winograd_available(s)) {
    const auto winograd =
        describe_convolution<Primitive>(p, dnnl::algorithm::convolution_winograd, attributes, hint...);
    if (winograd) return winograd;
  }
  return describe_convolution<Primitive>(p, dnnl::algorithm::convolution_direct, attributes, hint...);
}

enum class Operation { kForward, kBackwardData, kBackwardWeights };

// One operation on one slice. `first` and `second` are its operands, in the order of the functions of conv2d.h; `bias`
// is an operand of the forward operation and a second result of the gradient of weights.
class Kernel {
 public:
  Kernel(Operation operation, const Conv2dShape& shape) : operation_(operation), shape_(shape) {
    const Problem p(shape);
    const auto attributes = kernel_attributes(shape.relu);
    if (operation == Operation::kForward) {
      const auto chosen = choose<Forward>(shape, p, attributes);
      first_.emplace(DnnlDirection::kIn, p.input, chosen.src_desc());
      second_.emplace(DnnlDirection::kIn, p.weight, chosen.weights_desc());
      result_.emplace(DnnlDirection::kOut, p.output, chosen.dst_desc());
      prepare(Forward(chosen), chosen.scratchpad_desc(), p.bias,
              {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_BIAS});
      return;
    }
    const auto plain = kernel_attributes();
    const auto hint = choose<Forward>(shape, p, plain);
    if (operation == Operation::kBackwardData) {
      const auto chosen = choose<BackwardData>(shape, p, plain, hint);
      first_.emplace(DnnlDirection::kIn, p.output, chosen.diff_dst_desc());
      second_.emplace(DnnlDirection::kIn, p.weight, chosen.weights_desc());
      result_.emplace(DnnlDirection::kOut, p.input, chosen.diff_src_desc());
      prepare(BackwardData(chosen), chosen.scratchpad_desc(), {},
              {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC, 0});
    } else {
      const auto chosen = choose<BackwardWeights>(shape, p, plain, hint);
      first_.emplace(DnnlDirection::kIn, p.input, chosen.src_desc());
      second_.emplace(DnnlDirection::kIn, p.output, chosen.diff_dst_desc());
      result_.emplace(DnnlDirection::kOut, p.weight, chosen.diff_weights_desc());
      prepare(BackwardWeights(chosen), chosen.scratchpad_desc(), p.bias,
              {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS});
    }
  }

  bool is(Operation operation, const Conv2dShape& shape) const { return operation_ == operation && shape_ == shape; }

  // Before a run. An operand that stays the same over several slices is set once.
  void set_first(const float* data, Arena& arena) { first_->bind(data, arena); }
  void set_second(const float* data, Arena& arena) { second_->bind(data, arena); }
  void set_bias(const float* data, Arena& arena) {
    if (bias_) bias_->bind(data, arena);
  }

  void run(float* result, Arena& arena) {
    const Arena::Scope scope(arena);
    result_->bind(result, arena);
    execution_->run(arena);
    result_->store(arena);
  }

 private:
  struct Roles {
    int first, second, result, bias;
  };

  void prepare(const dnnl::primitive& primitive, const memory::desc& scratchpad, const memory::desc& bias,
               Roles roles) {
    std::vector<dnnl_exec_arg_t> arguments{
        {roles.first, first_->inside()}, {roles.second, second_->inside()}, {roles.result, result_->inside()}};
    if (bias.get_size() > 0) {
      bias_.emplace(DnnlDirection::kIn, bias, bias);
      arguments.push_back({roles.bias, bias_->inside()});
    }
    execution_.emplace(primitive, std::move(arguments), scratchpad);
  }

  Operation operation_;
  Conv2dShape shape_;
  std::optional<DnnlOperand> first_, second_, result_, bias_;
  std::optional<DnnlExecution> execution_;
};

// Calls run(kernel, sample) for each slice, which begins at `sample`; before it set(kernel) for each kernel. See
// Note [Slices].
template <typename Set, typename Run>
void for_each_kernel_slice(Operation operation, const Conv2dShape& shape, Arena& arena, Set set, Run run) {
  const std::int64_t whole = shape.batch / kConv2dSlice * kConv2dSlice;
  const auto part = [&](std::int64_t begin, std::int64_t end, std::int64_t size) {
    if (begin == end) return;
    const Arena::Scope constant(arena);
    Conv2dShape slice = shape;
    slice.batch = size;
    Kernel& kernel = kernel_for<Kernel>(operation, slice);
    set(kernel);
    for (std::int64_t sample = begin; sample < end; sample += size) {
      const Arena::Scope scope(arena);
      run(kernel, sample);
    }
  };
  part(0, whole, kConv2dSlice);
  part(whole, shape.batch, shape.batch - whole);
}

// Elements of one sample.
std::int64_t input_size(const Conv2dShape& s) { return s.in_channels * s.height * s.width; }
std::int64_t output_size(const Conv2dShape& s) { return s.out_channels * s.out_height() * s.out_width(); }

void add_to(float* total, const float* part, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) total[i] += part[i];
}

}  // namespace

void dnnl_conv2d_forward(const Conv2dShape& shape, const float* input, const float* weight, const float* bias,
                         float* output, Arena& arena) {
  const auto set = [&](Kernel& kernel) {
    kernel.set_second(weight, arena);
    kernel.set_bias(bias, arena);
  };
  for_each_kernel_slice(Operation::kForward, shape, arena, set, [&](Kernel& kernel, std::int64_t sample) {
    kernel.set_first(input + sample * input_size(shape), arena);
    kernel.run(output + sample * output_size(shape), arena);
  });
}

void dnnl_conv2d_backward_data(const Conv2dShape& shape, const float* grad_output, const float* weight,
                               float* grad_input, Arena& arena) {
  const auto set = [&](Kernel& kernel) { kernel.set_second(weight, arena); };
  for_each_kernel_slice(Operation::kBackwardData, shape, arena, set, [&](Kernel& kernel, std::int64_t sample) {
    kernel.set_first(grad_output + sample * output_size(shape), arena);
    kernel.run(grad_input + sample * input_size(shape), arena);
  });
}

void dnnl_conv2d_backward_weights(const Conv2dShape& shape, const float* input, const float* grad_output,
                                  float* grad_weight, float* grad_bias, Arena& arena) {
  const Arena::Scope scope(arena);
  const auto weight_count = static_cast<std::size_t>(element_count(shape.weight_shape()));
  const auto bias_count = static_cast<std::size_t>(shape.bias ? shape.out_channels : 0);
  std::fill_n(grad_weight, weight_count, 0.0F);
  std::fill_n(grad_bias, bias_count, 0.0F);
  const auto weight_part = arena.allocate<float>(weight_count), bias_part = arena.allocate<float>(bias_count);
  const auto set = [&](Kernel& kernel) { kernel.set_bias(bias_part.data(), arena); };
  // oneDNN overwrites: the slices are added up here.
  for_each_kernel_slice(Operation::kBackwardWeights, shape, arena, set, [&](Kernel& kernel, std::int64_t sample) {
    kernel.set_first(input + sample * input_size(shape), arena);
    kernel.set_second(grad_output + sample * output_size(shape), arena);
    kernel.run(weight_part.data(), arena);
    add_to(grad_weight, weight_part.data(), weight_count);
    add_to(grad_bias, bias_part.data(), bias_count);
  });
}

std::int64_t channel_block() {
  static const std::int64_t block = [] {
    const KernelScope scope;
    Conv2dShape shape{.batch = 1, .in_channels = 64, .height = 16, .width = 16, .out_channels = 64};
    shape.kernel_h = shape.kernel_w = 3;
    const Problem p(shape);
    const auto chosen =
        describe_convolution<Forward>(p, dnnl::algorithm::convolution_direct, kernel_attributes()).src_desc();
    const memory::dims dims{shape.batch, shape.in_channels, shape.height, shape.width};
    return chosen == image(dims, 16) ? 16 : chosen == image(dims, 8) ? 8 : 1;
  }();
  return block;
}

bool dnnl_has_winograd() {
  if (DNNL_VERSION_MAJOR >= 3) return false;
  static const bool has = [] {
    const KernelScope scope;
    Conv2dShape shape{.batch = kConv2dSlice, .in_channels = 32, .height = 16, .width = 16, .out_channels = 32};
    shape.kernel_h = shape.kernel_w = 3;
    return static_cast<bool>(
        describe_convolution<Forward>(Problem(shape), dnnl::algorithm::convolution_winograd, kernel_attributes()));
  }();
  return has;
}

}  // namespace viva
