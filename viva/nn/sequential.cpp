#include "viva/nn/sequential.h"

#include "viva/nn/layers.h"

namespace viva::nn {

void Sequential::declare(Declarations& declarations) {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    declarations.child(parts_[i].name, *parts_[i].module);
    if (i == 0) continue;
    if (auto* relu = dynamic_cast<Relu*>(parts_[i].module.get())) {
      if (parts_[i - 1].module->absorb_relu()) relu->skip();
    }
  }
}

Variable Sequential::forward(const Params& params, const Variable& x) const {
  Variable y = x;
  for (const Part& part : parts_) y = part.module->forward(params, y);
  return y;
}

}  // namespace viva::nn
