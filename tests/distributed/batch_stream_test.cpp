// Random access to the stream of epochs gives what walking through the epochs gives.
#include "viva/distributed/batch_stream.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/distributed/regression.h"
#include "viva/distributed/step_rules.h"

namespace viva::distributed {
namespace {

RC_GTEST_PROP(BatchStream, IsTheConcatenationOfTheEpochs, ()) {
  const auto samples = *rc::gen::inRange<std::int64_t>(1, 30);
  const data::DataLoader loader(test::random_dataset<float>(samples, 1),
                                {.batch_size = *rc::gen::inRange<std::int64_t>(1, samples + 1),
                                 .shuffle = *rc::gen::arbitrary<bool>(),
                                 .drop_last = *rc::gen::arbitrary<bool>(),
                                 .seed = 3});
  const auto window = *rc::gen::inRange<std::int64_t>(1, 70);
  BatchStream stream(loader, window);
  for (std::int64_t begin = 0; begin < 200; begin += window) {
    stream.prepare(begin, begin + window);
    for (std::int64_t number = begin; number < begin + window; ++number) {
      std::vector<std::int64_t> order(static_cast<std::size_t>(samples));
      loader.epoch_order(number / loader.size(), order);
      const auto expected = loader.batch_indices(order, number % loader.size());
      const auto got = stream.indices(number);
      RC_ASSERT(std::vector(got.begin(), got.end()) == std::vector(expected.begin(), expected.end()));
      RC_ASSERT(stream.length(number) == static_cast<std::int64_t>(expected.size()));
    }
  }
}

TEST(BatchStream, AnEmptyLoaderHasNothingToPrepare) {
  BatchStream stream(data::DataLoader(data::Dataset(), {.batch_size = 2}), 5);
  stream.prepare(0, 0);
}

TEST(StepSchedule, TheLastStepTakesTheBatchesThatAreLeft) {
  const StepSchedule schedule({.num_workers = 4, .batches_per_step = 4, .epochs = 3}, 6);
  EXPECT_EQ(schedule.last_step(0, -1), 5);
  EXPECT_EQ(schedule.batches_in(3), 4);
  EXPECT_EQ(schedule.batches_in(4), 2);
  EXPECT_EQ(schedule.batches_in(5), 0);
  EXPECT_EQ(schedule.last_step(0, 2), 2);
  EXPECT_EQ(schedule.last_step(4, 100), 5);
}

TEST(StepSchedule, HugeNumbersOfEpochsDoNotOverflow) {
  const StepSchedule schedule({.num_workers = 1, .batches_per_step = 1, .epochs = std::int64_t{1} << 62}, 1 << 20);
  EXPECT_GT(schedule.last_step(0, -1), std::int64_t{1} << 61);
  EXPECT_EQ(schedule.batches_in(1000), 1);
}

}  // namespace
}  // namespace viva::distributed
