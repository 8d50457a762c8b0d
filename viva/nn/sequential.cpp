#include "viva/nn/sequential.h"

namespace viva::nn {

void Sequential::declare(Declarations& declarations) {
  for (const Part& part : parts_) declarations.child(part.name, *part.module);
  fuse();
}

void Sequential::fuse() {
  for (std::size_t i = 0; i + 1 < parts_.size(); ++i) {
    parts_[i].skipped = parts_[i + 1].module->absorb_previous(*parts_[i].module);
  }
  Module* before = nullptr;
  for (Part& part : parts_) {
    if (part.skipped) continue;
    part.skipped = before != nullptr && before->absorb_next(*part.module);
    if (!part.skipped) before = part.module.get();
  }
  before = nullptr;
  for (const Part& part : parts_) {
    if (part.skipped) continue;
    if (before != nullptr && part.module->reads_channel_blocks()) before->may_give_channel_blocks();
    before = part.module.get();
  }
}

void Sequential::may_give_channel_blocks() {
  for (std::size_t i = parts_.size(); i-- > 0;) {
    if (!parts_[i].skipped) return parts_[i].module->may_give_channel_blocks();
  }
}

Variable Sequential::forward(const Params& params, const Variable& x) const {
  Variable y = x;
  for (const Part& part : parts_) {
    if (!part.skipped) y = part.module->forward(params, y);
  }
  return y;
}

}  // namespace viva::nn
