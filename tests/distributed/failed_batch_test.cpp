// A batch that ends training is kept, and can be computed again.
#include "viva/distributed/failed_batch.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <string>

#include "tests/distributed/faulty.h"
#include "tests/distributed/processes.h"
#include "tests/temporary_directory.h"

namespace viva::distributed {
namespace {

using test::faulty;
using test::processes;
using test::seeded_loader;
using test::SharedCounter;
using testing::HasSubstr;

class FailedBatches : public test::ProcessTest {};

TEST_F(FailedBatches, WhatEndsTrainingIsKeptForAReplay) {
  const TemporaryDirectory directory;
  const TrainConfig config{.num_workers = 4};
  const auto params = test::random_params<float>(3);
  const SharedCounter attempts;
  const auto compute = faulty(attempts, 1000, [](auto) { ::raise(SIGKILL); });
  TrainerOptions options = processes(2);
  options.failed_batch_directory = directory.file("");
  const std::string path = directory.file("failed-batch-14.safetensors");
  Trainer trainer(config, params, optim::adam(0.1), seeded_loader(), compute, options);
  try {
    trainer.run(10);
    FAIL() << "no error";
  } catch (const WorkerDied& error) {
    EXPECT_THAT(error.what(), HasSubstr(path));
  }
  const FailedBatch failed = read_failed_batch(path);
  EXPECT_EQ(failed.step, 3);
  EXPECT_EQ(failed.worker, 2);
  EXPECT_EQ(failed.batch, 14);
  EXPECT_EQ(failed.samples.size(), 1U);
  EXPECT_TRUE(test::same_bits(failed.params, trainer.result().final_params));
  // With a callback that is well, its gradients are those of the step that was not made; with the other one, it ends
  // this process too.
  const auto [loss, grads] = replay(failed, seeded_loader(), test::squared_error<float>);
  const auto batch = seeded_loader().batches(0).batch(14);
  const auto expected = test::squared_error_simple<float>(batch, failed.params);
  EXPECT_EQ(loss, expected.loss);
  ASSERT_EQ(grads.size(), expected.grads.size());
  for (std::size_t i = 0; i < grads.size(); ++i) {
    const auto same = std::ranges::find(expected.grads, grads[i].name, &GradPair::name);
    ASSERT_NE(same, expected.grads.end());
    EXPECT_TRUE(bitwise_equal(grads[i].grad, same->grad));
  }
  EXPECT_EXIT(replay(failed, seeded_loader(), compute), testing::KilledBySignal(SIGKILL), "");
  const data::DataLoader other(test::random_dataset<float>(64, 3), {.batch_size = 1, .shuffle = true, .seed = 6});
  EXPECT_THROW(replay(failed, other, test::squared_error<float>), ConfigError);
}

TEST_F(FailedBatches, WhatCannotBeKeptDoesNotHideTheError) {
  const SharedCounter attempts;
  TrainerOptions options = processes(2);
  options.failed_batch_directory = "/nowhere/at/all";
  Trainer trainer({.num_workers = 4}, test::random_params<float>(3), optim::adam(0.1), seeded_loader(),
                  faulty(attempts, 5, [](auto) { ::raise(SIGBUS); }), options);
  try {
    trainer.run(10);
    FAIL() << "no error";
  } catch (const WorkerDied& error) {
    EXPECT_EQ(error.signal, SIGBUS);
    EXPECT_THAT(error.what(), HasSubstr("could not be kept for a replay: /nowhere/at/all/failed-batch-14.safetensors"));
  }
}

}  // namespace
}  // namespace viva::distributed
