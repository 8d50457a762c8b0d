// Convolutions, attention, dropout and batch norm in training: the reference's bits on any executors, and steady steps
// that allocate nothing.
#include <gtest/gtest.h>

#include <string>

#include "tests/allocation_counter.h"
#include "tests/distributed/regression.h"
#include "viva/distributed/trainer.h"
#include "viva/nn/batch_norm.h"
#include "viva/nn/classifier.h"
#include "viva/nn/cnn.h"
#include "viva/nn/gpt.h"
#include "viva/nn/layers.h"

namespace viva::distributed {
namespace {

struct Setup {
  std::string name;
  nn::Model model;
  data::Dataset dataset;
};

std::ostream& operator<<(std::ostream& out, const Setup& setup) { return out << setup.name; }

data::Dataset images(std::int64_t samples) {
  const Tensor labels = Tensor::zeros({samples}, Dtype::kInt32);
  std::int32_t number = 0;
  for (std::int32_t& label : labels.mutable_values<std::int32_t>()) label = number++ % 10;
  return data::Dataset::from_tensors(test::random_tensor<float>(3, {samples, 14, 14}), labels);
}

data::Dataset sequences(std::int64_t samples) {
  const RandomStream random(4, RandomPurpose::kInitialize, 0);
  const auto tokens = [&](std::uint64_t shift) {
    Tensor t = Tensor::zeros({samples, 12}, Dtype::kInt32);
    std::uint64_t i = shift;
    for (std::int32_t& token : t.mutable_values<std::int32_t>())
      token = static_cast<std::int32_t>(random.below(i++, 9));
    return t;
  };
  return data::Dataset::from_tensors(tokens(0), tokens(1));
}

std::vector<Setup> setups() {
  const nn::CnnOptions small{.height = 14, .width = 14};
  nn::CnnOptions direct = small;
  direct.algorithm = Conv2dAlgorithm::kDirect;
  return {{"cnn", nn::cnn(small), images(70)},
          {"direct_cnn", nn::cnn(direct), images(70)},
          {"gpt", nn::gpt({.vocabulary = 9, .context = 12, .layers = 2, .heads = 2, .channels = 32, .dropout = 0.2}),
           sequences(70)},
          {"batch_norm",
           nn::Model(nn::Flatten(), nn::Linear(196, 40), nn::BatchNorm(40), nn::Relu(), nn::Dropout(0.3),
                     nn::Linear(40, 10)),
           images(70)}};
}

class ReferenceModels : public testing::TestWithParam<Setup> {
 protected:
  // Three workers, some with two batches a step, and short last batches.
  data::DataLoader loader{GetParam().dataset, {.batch_size = 20, .shuffle = true, .seed = 6}};
  TrainConfig config{.num_workers = 3, .batches_per_step = 5};
  ComputeGrads loss = nn::classifier_loss(GetParam().model);
  std::vector<Param> params = GetParam().model.initial_params(2);
};

INSTANTIATE_TEST_SUITE_P(Models, ReferenceModels, testing::ValuesIn(setups()),
                         [](const auto& instance) { return instance.param.name; });

TEST_P(ReferenceModels, TheSameBitsOnAnyExecutors) {
  const optim::Schedule cosine(optim::ScheduleKind::kCosine, {.warmup_steps = 2, .total_steps = 6});
  for (const bool clipped : {false, true}) {
    config.schedule = cosine;
    if (clipped) config.clipping = {.norm = 0.1};
    const auto reference = train_synchronous(config, params, optim::adamw(0.01), loader, loss, 5);
    EXPECT_FALSE(test::same_bits(reference.final_params, params));
    for (const std::int64_t executors : {1, 2, 3}) {
      Trainer trainer(config, params, optim::adamw(0.01), loader, loss, {.executors = executors});
      trainer.run(5);
      EXPECT_TRUE(test::same_bits(trainer.result(), reference)) << executors << (clipped ? " clipped" : "");
    }
  }
}

TEST_P(ReferenceModels, TheSameBitsInBf16) {
  if (!bf16_possible()) GTEST_SKIP() << "oneDNN computes no bfloat16 products on this processor";
  const ComputeGrads bf16 = nn::classifier_loss(GetParam().model, {}, {.precision = Precision::kBf16});
  const auto reference = train_synchronous(config, params, optim::adamw(0.01), loader, bf16, 3);
  for (const std::int64_t executors : {1, 2, 3}) {
    Trainer trainer(config, params, optim::adamw(0.01), loader, bf16, {.executors = executors});
    trainer.run(3);
    EXPECT_TRUE(test::same_bits(trainer.result(), reference)) << executors;
  }
  // It is another precision, and near.
  const auto in_float = train_synchronous(config, params, optim::adamw(0.01), loader, loss, 3);
  EXPECT_FALSE(test::same_bits(in_float.final_params, reference.final_params));
  EXPECT_NEAR(in_float.total_loss, reference.total_loss, 0.02 * in_float.total_loss);
}

TEST_P(ReferenceModels, ASteadyStepAllocatesNothing) {
  Trainer trainer(config, params, optim::adamw(0.01), loader, loss, {.executors = 2});
  trainer.run(8);
  const auto before = test::allocations();
  trainer.run(8);
  EXPECT_EQ(test::allocations().viva - before.viva, 0);
}

}  // namespace
}  // namespace viva::distributed
