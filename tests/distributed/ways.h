// The ways to train, for suites that all of them must pass.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <span>

#include "tests/distributed/processes.h"
#include "viva/distributed/trainer.h"

namespace viva::test {

struct Way {
  const char* name;
  std::int64_t executors;  // 0: the reference
  distributed::ExecutorKind kind = distributed::ExecutorKind::kThreads;
};

inline void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

class EveryWay : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (in_processes()) skip_unless_single_threaded();
  }

  static bool in_processes() { return GetParam().kind == distributed::ExecutorKind::kProcesses; }

  static distributed::TrainerOptions trainer_options() {
    distributed::TrainerOptions options;
    options.executors = GetParam().executors;
    options.kind = GetParam().kind;
    return options;
  }

  static distributed::TrainResult train(const distributed::TrainConfig& config, std::span<const Param> params,
                                        const optim::Optimizer& optimizer, const data::DataLoader& loader,
                                        const distributed::ComputeGrads& compute, std::int64_t steps) {
    if (GetParam().executors == 0) {
      return distributed::train_synchronous(config, params, optimizer, loader, compute, steps);
    }
    distributed::Trainer trainer(config, params, optimizer, loader, compute, trainer_options());
    trainer.run(steps);
    return trainer.result();
  }
};

inline auto every_way() {
  return testing::Values(Way{"reference", 0}, Way{"one_thread", 1}, Way{"two_threads", 2}, Way{"seven_threads", 7},
                         Way{"two_processes", 2, distributed::ExecutorKind::kProcesses});
}

inline std::string name_of_way(const testing::TestParamInfo<Way>& tested) { return tested.param.name; }

}  // namespace viva::test
