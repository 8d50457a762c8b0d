#include "viva/tensor/dnnl_matmul.h"

#include <optional>
#include <vector>

#include "viva/tensor/dnnl_execution.h"

namespace viva {
namespace {

using dnnl::memory;

memory::desc row_major(std::int64_t rows, std::int64_t columns, bool transposed = false,
                       memory::data_type type = memory::data_type::f32) {
  return {{rows, columns}, type, transposed ? memory::format_tag::ba : memory::format_tag::ab};
}

// A product in oneDNN's words: the caller's operands, and the ones that are multiplied.
struct MatmulProblem {
  memory::desc a, b, bias, out, inner_a, inner_b;

  explicit MatmulProblem(const MatmulShape& s)
      : a(row_major(s.m, s.k, s.transpose_a)),
        b(row_major(s.k, s.n, s.transpose_b)),
        bias(s.bias ? row_major(1, s.n) : memory::desc()),
        out(row_major(s.m, s.n)),
        inner_a(a),
        inner_b(b) {
    if (s.precision == Precision::kF32) return;
    // oneDNN's quick kernels of bfloat16 want the left operand as it is read.
    inner_a = row_major(s.m, s.k, false, memory::data_type::bf16);
    inner_b = row_major(s.k, s.n, s.transpose_b, memory::data_type::bf16);
  }
};

// oneDNN 2 describes an operation before it makes the primitive's descriptor; 3 does both at once.
dnnl::matmul::primitive_desc describe_product(const MatmulShape& s, const MatmulProblem& p) {
  const dnnl::primitive_attr attributes = kernel_attributes(s.relu);
#if DNNL_VERSION_MAJOR >= 3
  return s.bias ? dnnl::matmul::primitive_desc(cpu_engine(), p.inner_a, p.inner_b, p.bias, p.out, attributes)
                : dnnl::matmul::primitive_desc(cpu_engine(), p.inner_a, p.inner_b, p.out, attributes);
#else
  return {s.bias ? dnnl::matmul::desc(p.inner_a, p.inner_b, p.bias, p.out)
                 : dnnl::matmul::desc(p.inner_a, p.inner_b, p.out),
          attributes, cpu_engine()};
#endif
}

// A primitive with its operands. Used by the thread that made it.
class MatmulKernel {
 public:
  explicit MatmulKernel(const MatmulShape& shape) : MatmulKernel(shape, MatmulProblem(shape)) {}

  bool is(const MatmulShape& shape) const { return shape_ == shape; }

  void run(const float* a, const float* b, const float* bias, float* out, Arena& arena) {
    const Arena::Scope scope(arena);
    a_.bind(a, arena);
    b_.bind(b, arena);
    out_.bind(out, arena);
    if (bias_) bias_->bind(bias, arena);
    execution_->run(arena);
  }

 private:
  MatmulKernel(const MatmulShape& shape, const MatmulProblem& p)
      : shape_(shape),
        a_(DnnlDirection::kIn, p.a, p.inner_a),
        b_(DnnlDirection::kIn, p.b, p.inner_b),
        out_(DnnlDirection::kOut, p.out, p.out) {
    std::vector<dnnl_exec_arg_t> arguments{
        {DNNL_ARG_SRC, a_.inside()}, {DNNL_ARG_WEIGHTS, b_.inside()}, {DNNL_ARG_DST, out_.inside()}};
    if (shape.bias) {
      bias_.emplace(DnnlDirection::kIn, p.bias, p.bias);
      arguments.push_back({DNNL_ARG_BIAS, bias_->inside()});
    }
    const auto description = describe_product(shape, p);
    execution_.emplace(dnnl::matmul(description), std::move(arguments), description.scratchpad_desc());
  }

  MatmulShape shape_;
  DnnlOperand a_, b_, out_;
  std::optional<DnnlOperand> bias_;
  std::optional<DnnlExecution> execution_;
};

}  // namespace

void dnnl_matmul(const MatmulShape& shape, const float* a, const float* b, const float* bias, float* out,
                 Arena& arena) {
  kernel_for<MatmulKernel>(shape).run(a, b, bias, out, arena);
}

}  // namespace viva
