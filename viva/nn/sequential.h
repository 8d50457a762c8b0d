// Sequential: modules one after the other.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "viva/nn/module.h"

namespace viva::nn {

// Modules are named by their places, "0", "1", …, or by the names they are added with.
class Sequential final : public Module {
 public:
  Sequential() = default;
  template <typename... Modules>
  requires(sizeof...(Modules) > 0 &&
           (std::derived_from<Modules, Module> && ...)) explicit Sequential(Modules... modules) {
    (add(std::to_string(parts_.size()), std::move(modules)), ...);
  }

  template <std::derived_from<Module> M>
  Sequential& add(std::string name, M module) {
    parts_.push_back({std::move(name), std::make_unique<M>(std::move(module))});
    return *this;
  }

  void declare(Declarations& declarations) override;
  Variable forward(const Params& params, const Variable& x) const override;
  bool reads_channel_blocks() const override {
    return !parts_.empty() && parts_.front().module->reads_channel_blocks();
  }
  void may_give_channel_blocks() override;

 private:
  // Lets modules take over what their neighbours do.
  void fuse();

  struct Part {
    std::string name;
    std::unique_ptr<Module> module;
    bool skipped = false;  // a neighbour has taken its work over
  };
  std::vector<Part> parts_;
};

}  // namespace viva::nn
