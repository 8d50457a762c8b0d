#include "viva/tensor/dnnl_matmul.h"

#include <array>
#include <deque>
#include <dnnl.hpp>

#include "viva/tensor/dnnl_execution.h"

namespace viva {
namespace {

using dnnl::memory;

memory::desc row_major(std::int64_t rows, std::int64_t columns, bool transposed = false) {
  return {{rows, columns}, memory::data_type::f32, transposed ? memory::format_tag::ba : memory::format_tag::ab};
}

// oneDNN 2 describes an operation before it makes the primitive's descriptor; 3 does both at once.
dnnl::matmul::primitive_desc describe(const MatmulShape& s) {
  const auto a = row_major(s.m, s.k, s.transpose_a), b = row_major(s.k, s.n, s.transpose_b);
  const auto out = row_major(s.m, s.n);
  const auto bias = s.bias ? row_major(1, s.n) : memory::desc();
  dnnl::primitive_attr attributes = user_scratchpad();
  if (s.relu) {
    dnnl::post_ops relu;
#if DNNL_VERSION_MAJOR >= 3
    relu.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
#else
    relu.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
#endif
    attributes.set_post_ops(relu);
  }
#if DNNL_VERSION_MAJOR >= 3
  return s.bias ? dnnl::matmul::primitive_desc(cpu_engine(), a, b, bias, out, attributes)
                : dnnl::matmul::primitive_desc(cpu_engine(), a, b, out, attributes);
#else
  return {s.bias ? dnnl::matmul::desc(a, b, bias, out) : dnnl::matmul::desc(a, b, out), attributes, cpu_engine()};
#endif
}

// A primitive with the memory objects that its arguments go through. Used by the thread that made it.
class Kernel {
 public:
  explicit Kernel(const MatmulShape& shape) : Kernel(shape, describe(shape)) {}

  const MatmulShape& shape() const { return shape_; }

  void run(const float* a, const float* b, const float* bias, float* out, Arena& arena) {
    // oneDNN takes every argument as mutable; it writes only to the result and the scratchpad.
    a_.set_data_handle(const_cast<float*>(a));
    b_.set_data_handle(const_cast<float*>(b));
    out_.set_data_handle(out);
    scratchpad_.set_data_handle(arena.allocate<char>(scratchpad_size_).data());
    if (shape_.bias) bias_.set_data_handle(const_cast<float*>(bias));
    const int count = shape_.bias ? 5 : 4;
    dnnl::error::wrap_c_api(dnnl_primitive_execute(primitive_.get(), stream_.get(), count, arguments_.data()),
                            "viva: oneDNN could not execute a matrix product");
  }

 private:
  Kernel(const MatmulShape& shape, const dnnl::matmul::primitive_desc& description)
      : shape_(shape),
        stream_(cpu_engine()),
        primitive_(description),
        a_(description.src_desc(), cpu_engine(), nullptr),
        b_(description.weights_desc(), cpu_engine(), nullptr),
        out_(description.dst_desc(), cpu_engine(), nullptr),
        scratchpad_(description.scratchpad_desc(), cpu_engine(), nullptr),
        scratchpad_size_(description.scratchpad_desc().get_size()),
        arguments_{{{DNNL_ARG_SRC, a_.get()},
                    {DNNL_ARG_WEIGHTS, b_.get()},
                    {DNNL_ARG_DST, out_.get()},
                    {DNNL_ARG_SCRATCHPAD, scratchpad_.get()},
                    {DNNL_ARG_BIAS, nullptr}}} {
    if (!shape.bias) return;
    bias_ = memory(row_major(1, shape.n), cpu_engine(), nullptr);
    arguments_.back().memory = bias_.get();
  }

  MatmulShape shape_;
  dnnl::stream stream_;
  dnnl::matmul primitive_;
  memory a_, b_, out_, scratchpad_, bias_;
  std::size_t scratchpad_size_;
  std::array<dnnl_exec_arg_t, 5> arguments_;
};

// This thread's kernels, the most recently made first. A model uses a handful of shapes; the bound keeps a caller who
// never repeats one from growing without end.
Kernel& kernel_for(const MatmulShape& shape) {
  constexpr std::size_t kMost = 256;
  thread_local std::deque<Kernel> kernels;
  for (Kernel& kernel : kernels) {
    if (kernel.shape() == shape) return kernel;
  }
  if (kernels.size() == kMost) kernels.pop_back();
  return kernels.emplace_front(shape);
}

}  // namespace

void dnnl_matmul(const MatmulShape& shape, const float* a, const float* b, const float* bias, float* out,
                 Arena& arena) {
  kernel_for(shape).run(a, b, bias, out, arena);
}

}  // namespace viva
