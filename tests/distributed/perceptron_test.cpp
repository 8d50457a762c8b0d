// The perceptron on real kernels: the same bits on any executors and under any settings of the host; memory and
// allocations of a steady step.
#include <gtest/gtest.h>

#include <cfenv>
#include <fstream>

#include "tests/allocation_counter.h"
#include "tests/distributed/regression.h"
#include "viva/base/cpu.h"
#include "viva/distributed/trainer.h"
#include "viva/nn/classifier.h"
#include "viva/nn/mlp.h"
#include "viva/tensor/float_control.h"
#include "viva/tensor/openmp_threads.h"

namespace viva::distributed {
namespace {

// A dataset like Fashion-MNIST's in all but content: uint8 images, int32 labels, a short last batch.
struct Training {
  nn::Model model = nn::mlp({784, 256, 128, 10});
  data::Dataset dataset = make_dataset(500);
  data::DataLoader loader{dataset, {.batch_size = 64, .shuffle = true, .seed = 4}};
  TrainConfig config{.num_workers = 5, .batches_per_step = 7};
  optim::Optimizer optimizer = optim::sgd_momentum(0.05);
  ComputeGrads compute = nn::classifier_loss(model);

  static data::Dataset make_dataset(std::int64_t samples) {
    const RandomStream random(1, RandomPurpose::kInitialize, 0);
    Tensor images = Tensor::zeros({samples, 28, 28}, Dtype::kUInt8), labels = Tensor::zeros({samples}, Dtype::kInt32);
    std::uint64_t element = 0;
    for (auto& x : images.mutable_values<std::uint8_t>()) x = static_cast<std::uint8_t>(random.below(element++, 256));
    for (auto& y : labels.mutable_values<std::int32_t>()) y = static_cast<std::int32_t>(random.below(element++, 10));
    return data::Dataset::from_tensors(images, labels, {1.0 / 255.0, 0});
  }
  TrainResult reference(std::int64_t steps) const {
    return train_synchronous(config, model.initial_params(1), optimizer, loader, compute, steps);
  }
  TrainResult trained(std::int64_t executors, std::int64_t steps) const {
    Trainer trainer(config, model.initial_params(1), optimizer, loader, compute, {.executors = executors});
    trainer.run(steps);
    return trainer.result();
  }
};

TEST(Perceptron, TheSameBitsOnAnyExecutors) {
  Training setup;
  const auto reference = setup.reference(12);
  for (const std::int64_t executors : {1, 2, 3, 4, 7, 64}) {
    EXPECT_TRUE(test::same_bits(setup.trained(executors, 12), reference)) << executors;
  }
}

// A host that rounds upward, keeps subnormal numbers, traps nothing and wants three OpenMP threads gets the same bits,
// and its settings back.
TEST(Perceptron, TheHostsSettingsChangeNothingAndAreRestored) {
  Training setup;
  const auto reference = setup.reference(6);
  const auto quiet_control = float_control::current();
  const int quiet_threads = openmp_threads::current();
  openmp_threads::set(3);
  for (const std::uint64_t control : {quiet_control | 0x8040U, quiet_control & ~std::uint64_t{0x8040}}) {
    for (const int rounding : {FE_TONEAREST, FE_UPWARD, FE_TOWARDZERO}) {
      float_control::set(control);
      std::fesetround(rounding);
      const auto host_control = float_control::current();
      const auto plain = setup.reference(6);
      const auto fast = setup.trained(2, 6);
      EXPECT_EQ(float_control::current(), host_control);
      EXPECT_EQ(std::fegetround(), rounding);
      EXPECT_EQ(openmp_threads::current(), 3);
      std::fesetround(FE_TONEAREST);
      float_control::set(quiet_control);
      EXPECT_TRUE(test::same_bits(plain, reference));
      EXPECT_TRUE(test::same_bits(fast, reference));
    }
  }
  openmp_threads::set(quiet_threads);
}

std::int64_t resident_kilobytes() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::stoll(line.substr(6));
  }
  return -1;
}

// Counted in allocations by viva's own code; oneDNN's, some a primitive, are counted apart and constant.
void expect_no_allocation(const Training& setup) {
  Trainer trainer(setup.config, setup.model.initial_params(1), setup.optimizer, setup.loader, setup.compute,
                  {.executors = 2});
  trainer.run(20);
  std::int64_t onednn = -1;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const auto before = test::allocations();
    // Over several epochs, short last batches included: a multiple of the steps after which batches repeat their place.
    trainer.run(80);
    const auto after = test::allocations();
    EXPECT_EQ(after.viva - before.viva, 0);
    if (onednn >= 0) {
      EXPECT_EQ(after.onednn - before.onednn, onednn);
    }
    onednn = after.onednn - before.onednn;
  }
}

TEST(Perceptron, ASteadyStepAllocatesNothing) { expect_no_allocation({}); }

TEST(Perceptron, ASteadyStepInTwoPassesAllocatesNothing) {
  Training setup;
  setup.config.clipping = {.norm = 0.5, .value = 0.1};
  setup.config.non_finite = NonFinite::kSkip;
  expect_no_allocation(setup);
}

TEST(Perceptron, ResidentMemoryIsFlat) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory grows";
#endif
  Training setup;
  setup.model = nn::mlp({784, 16, 10});
  setup.compute = nn::classifier_loss(setup.model);
  Trainer trainer(setup.config, setup.model.initial_params(1), setup.optimizer, setup.loader, setup.compute,
                  {.executors = 2});
  trainer.run(200);
  const std::int64_t before = resident_kilobytes();
  trainer.run(2000);
  EXPECT_LE(resident_kilobytes() - before, 256);
}

// One copy of the parameters whatever the threads: an executor adds its partial sums, a scratch buffer and its
// activations.
TEST(Perceptron, AnExecutorCostsItsPartialsAndActivationsOnly) {
  Training setup;
  setup.config = {.num_workers = 8, .batches_per_step = 16};
  const std::int64_t flat = optim::Layout(setup.model.initial_params(1)).size() * 4;
  const auto bytes_for = [&](std::int64_t executors) {
    const auto before = test::allocations();
    Trainer trainer(setup.config, setup.model.initial_params(1), setup.optimizer, setup.loader, setup.compute,
                    {.executors = executors});
    trainer.run(2);
    return test::allocations().live_viva_bytes - before.live_viva_bytes;
  };
  const std::int64_t one = bytes_for(1), four = bytes_for(4);
  // An executor of 2 workers: 2 slots and a scratch buffer. The one of 8 has 4 and a scratch buffer.
  constexpr std::int64_t kActivations = 3 << 20;
  EXPECT_LE(four - one, 4 * (3 * flat + kActivations) - (5 * flat));
  // Parameters and their momentum once, and the one executor's buffers.
  EXPECT_LE(one, (2 + 5) * flat + kActivations);
}

}  // namespace
}  // namespace viva::distributed
