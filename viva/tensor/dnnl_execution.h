// What every oneDNN kernel of this folder stands on: the engine, a primitive with its arguments, an operand that may
// have another layout inside the kernel than outside.
#pragma once

#include <deque>
#include <dnnl.hpp>
#include <optional>
#include <vector>

#include "viva/tensor/arena.h"

namespace viva {

dnnl::engine& cpu_engine();

// Whether oneDNN has kernels for these instructions here.
bool dnnl_has(dnnl::cpu_isa isa);
inline bool dnnl_has_avx512() { return dnnl_has(dnnl::cpu_isa::avx512_core); }

// The attributes of a primitive whose scratch memory comes from an Arena, and whose results may go through a ReLU.
dnnl::primitive_attr kernel_attributes(bool relu = false);

// A primitive, its arguments and its scratch memory. Used by the thread that made it.
class DnnlExecution {
 public:
  // `arguments` refer to memory objects that outlive this; the scratchpad is not among them.
  DnnlExecution(const dnnl::primitive& primitive, std::vector<dnnl_exec_arg_t> arguments,
                const dnnl::memory::desc& scratchpad);

  // Reads and writes what the arguments' handles point to now. Allocates nothing of viva's.
  void run(Arena& arena);

 private:
  dnnl::primitive primitive_;
  dnnl::stream stream_;
  dnnl::memory scratchpad_;
  std::size_t scratchpad_size_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

enum class DnnlDirection { kIn, kOut };

// An operand of a kernel: `outside` is its layout in the caller's memory, `inside` the one that the kernel chose. Where
// they differ, the operand is reordered in memory of the arena.
class DnnlOperand {
 public:
  DnnlOperand(DnnlDirection direction, const dnnl::memory::desc& outside, const dnnl::memory::desc& inside);

  // What the kernel's arguments refer to.
  dnnl_memory_t inside() const { return inside_.get(); }

  // Before the kernel runs: the caller's memory.
  void bind(const float* data, Arena& arena) { bind(const_cast<float*>(data), arena); }
  void bind(float* data, Arena& arena);
  // After it has run: brings an output to the caller's memory.
  void store(Arena& arena);

 private:
  DnnlDirection direction_;
  dnnl::memory outside_, inside_;
  std::size_t inside_size_;
  std::optional<DnnlExecution> reorder_;
};

// This thread's kernels of one kind, the most recently made first. A model uses a handful of shapes; the bound keeps a
// caller who never repeats one from growing without end. A Kernel is made from `key` and says whether it is(key).
template <typename Kernel, typename... Key>
Kernel& kernel_for(const Key&... key) {
  constexpr std::size_t kMost = 256;
  thread_local std::deque<Kernel> kernels;
  for (Kernel& kernel : kernels) {
    if (kernel.is(key...)) return kernel;
  }
  if (kernels.size() == kMost) kernels.pop_back();
  return kernels.emplace_front(key...);
}

}  // namespace viva
