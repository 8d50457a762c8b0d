#include "viva/tensor/dnnl_execution.h"

#include <utility>

namespace viva {

dnnl::engine& cpu_engine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

bool dnnl_has(dnnl::cpu_isa isa) {
  const auto has = static_cast<unsigned>(dnnl::get_effective_cpu_isa()), wanted = static_cast<unsigned>(isa);
  // An instruction set's number has the bits of those that it includes.
  return (has & wanted) == wanted;
}

dnnl::primitive_attr kernel_attributes(bool relu) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (!relu) return attributes;
  dnnl::post_ops operations;
#if DNNL_VERSION_MAJOR >= 3
  operations.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
#else
  operations.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
#endif
  attributes.set_post_ops(operations);
  return attributes;
}

DnnlExecution::DnnlExecution(const dnnl::primitive& primitive, std::vector<dnnl_exec_arg_t> arguments,
                             const dnnl::memory::desc& scratchpad)
    : primitive_(primitive),
      stream_(cpu_engine()),
      scratchpad_(scratchpad, cpu_engine(), nullptr),
      scratchpad_size_(scratchpad.get_size()),
      arguments_(std::move(arguments)) {
  arguments_.push_back({DNNL_ARG_SCRATCHPAD, scratchpad_.get()});
}

void DnnlExecution::run(Arena& arena) {
  const Arena::Scope scope(arena);
  scratchpad_.set_data_handle(arena.allocate<char>(scratchpad_size_).data());
  // primitive::execute would build a map of the arguments in each call.
  dnnl::error::wrap_c_api(
      dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()), arguments_.data()),
      "viva: oneDNN could not execute a kernel");
}

DnnlOperand::DnnlOperand(DnnlDirection direction, const dnnl::memory::desc& outside, const dnnl::memory::desc& inside)
    : direction_(direction),
      outside_(outside, cpu_engine(), nullptr),
      inside_(inside, cpu_engine(), nullptr),
      inside_size_(inside.get_size()) {
  if (outside == inside) return;
  const bool in = direction == DnnlDirection::kIn;
  const dnnl::memory &from = in ? outside_ : inside_, &to = in ? inside_ : outside_;
  const dnnl::reorder::primitive_desc description(cpu_engine(), from.get_desc(), cpu_engine(), to.get_desc(),
                                                  kernel_attributes());
  reorder_.emplace(dnnl::reorder(description),
                   std::vector<dnnl_exec_arg_t>{{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, to.get()}},
                   description.scratchpad_desc());
}

void DnnlOperand::bind(float* data, Arena& arena) {
  outside_.set_data_handle(data);
  inside_.set_data_handle(reorder_ ? arena.allocate<char>(inside_size_).data() : reinterpret_cast<char*>(data));
  if (reorder_ && direction_ == DnnlDirection::kIn) reorder_->run(arena);
}

void DnnlOperand::store(Arena& arena) {
  if (reorder_ && direction_ == DnnlDirection::kOut) reorder_->run(arena);
}

}  // namespace viva
