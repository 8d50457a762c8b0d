#include "viva/nn/sequential.h"

#include "viva/nn/layers.h"

namespace viva::nn {

void Sequential::declare(Declarations& declarations) {
  for (const Part& part : parts_) declarations.child(part.name, *part.module);
  fuse();
}

void Sequential::fuse() {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (dynamic_cast<Relu*>(parts_[i].module.get()) == nullptr) continue;
    parts_[i].skipped = (i + 1 < parts_.size() && parts_[i + 1].module->absorb_relu_before()) ||
                        (i > 0 && parts_[i - 1].module->absorb_relu());
  }
  Module* before = nullptr;
  for (const Part& part : parts_) {
    if (part.skipped) continue;
    if (before != nullptr && part.module->reads_channel_blocks()) before->may_give_channel_blocks();
    before = part.module.get();
  }
}

void Sequential::may_give_channel_blocks() {
  if (!parts_.empty() && !parts_.back().skipped) parts_.back().module->may_give_channel_blocks();
}

Variable Sequential::forward(const Params& params, const Variable& x) const {
  Variable y = x;
  for (const Part& part : parts_) {
    if (!part.skipped) y = part.module->forward(params, y);
  }
  return y;
}

}  // namespace viva::nn
