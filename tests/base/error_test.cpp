// Errors: the fields that a program reacts to, and messages that say what was expected, what was found and where.
#include "viva/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <type_traits>

namespace viva {
namespace {

TEST(ToString, WritesAShapeAsAList) {
  EXPECT_EQ(to_string(Shape{2, 3}), "[2, 3]");
  EXPECT_EQ(to_string(Shape{7}), "[7]");
  EXPECT_EQ(to_string(Shape{}), "[]");
}

template <typename E>
class EveryError : public testing::Test {};
using Errors =
    testing::Types<ShapeMismatch, InvalidShape, DimensionError, BroadcastError, IndexOutOfBounds, DtypeError,
                   ConfigError, IoError, WorkerTimeout, WorkerDied, NonFiniteGradient, WorkerFailed, CommError>;
TYPED_TEST_SUITE(EveryError, Errors);

TYPED_TEST(EveryError, IsAnErrorOfVivaAndOfTheStandardLibrary) {
  EXPECT_TRUE((std::is_base_of_v<Error, TypeParam>));
  EXPECT_TRUE((std::is_base_of_v<std::runtime_error, TypeParam>));
  EXPECT_TRUE(std::is_nothrow_destructible_v<TypeParam>);
  EXPECT_TRUE(std::is_copy_constructible_v<TypeParam>) << "an exception must survive being carried to another thread";
}

TEST(ShapeMismatch, NamesPlaceExpectedAndFound) {
  const ShapeMismatch error("gradient of 'w'", {2, 3}, {3, 2});
  EXPECT_EQ(error.expected, (Shape{2, 3}));
  EXPECT_EQ(error.got, (Shape{3, 2}));
  EXPECT_STREQ(error.what(), "gradient of 'w': expected shape [2, 3], got [3, 2]");
}

TEST(DimensionError, NamesTheParameter) {
  const DimensionError error("no parameter 'w'", "w");
  EXPECT_EQ(error.name, "w");
  EXPECT_STREQ(error.what(), "no parameter 'w'");
  EXPECT_EQ(DimensionError("no workers").name, "");
}

TEST(BroadcastError, NamesBothShapesAndTheRule) {
  const BroadcastError error({2, 3}, {4});
  EXPECT_EQ(error.shape_a, (Shape{2, 3}));
  EXPECT_EQ(error.shape_b, (Shape{4}));
  EXPECT_STREQ(error.what(), "shapes [2, 3] and [4] do not broadcast: axes must be equal or 1, counted from the last");
}

TEST(IndexOutOfBounds, NamesIndexAndBounds) {
  const IndexOutOfBounds error("Dataset::get", 5, 3);
  EXPECT_EQ(error.index, 5);
  EXPECT_EQ(error.size, 3);
  EXPECT_STREQ(error.what(), "Dataset::get: index 5 is outside -3..2");
  EXPECT_STREQ(IndexOutOfBounds("Dataset::get", 0, 0).what(), "Dataset::get: index 0, but it is empty");
}

TEST(ConfigError, NamesAsMuchOfThePlaceAsThereIs) {
  const ConfigError error("a.toml", 12, "train.workers", "expected a number > 0, got 0");
  EXPECT_EQ(error.file, "a.toml");
  EXPECT_EQ(error.line, 12);
  EXPECT_EQ(error.key, "train.workers");
  EXPECT_STREQ(error.what(), "a.toml:12: train.workers: expected a number > 0, got 0");
  EXPECT_STREQ(ConfigError("a.toml", 0, "train", "missing").what(), "a.toml: train: missing");
  EXPECT_STREQ(ConfigError("a.toml", 3, "", "not TOML").what(), "a.toml:3: not TOML");
  EXPECT_STREQ(ConfigError("", 0, "optimizer.lr", "bad").what(), "optimizer.lr: bad");
}

TEST(IoError, NamesPathAndOffset) {
  const IoError error("x.idx", 4, "expected 16 bytes, found 4");
  EXPECT_EQ(error.path, "x.idx");
  EXPECT_EQ(error.offset, 4);
  EXPECT_STREQ(error.what(), "x.idx: at byte 4: expected 16 bytes, found 4");
  EXPECT_STREQ(IoError("x.idx", 0, "empty").what(), "x.idx: at byte 0: empty");
  EXPECT_STREQ(IoError("x.idx", -1, "no such file").what(), "x.idx: no such file");
}

TEST(WorkerTimeout, NamesWorkerBatchAndTime) {
  const WorkerTimeout error(2, 9, 5.5, "worker 2 did not answer");
  EXPECT_EQ(error.worker, 2);
  EXPECT_EQ(error.batch, 9);
  EXPECT_EQ(error.seconds, 5.5);
  EXPECT_STREQ(error.what(), "worker 2 did not answer");
}

TEST(WorkerDied, NamesHowItEndedAndItsLastWords) {
  const WorkerDied by_signal(3, 8, 0, 11, "");
  EXPECT_EQ(by_signal.worker, 3);
  EXPECT_EQ(by_signal.batch, 8);
  EXPECT_EQ(by_signal.exit_code, 0);
  EXPECT_EQ(by_signal.signal, 11);
  EXPECT_EQ(by_signal.last_message, "");
  EXPECT_STREQ(by_signal.what(), "worker 3 died in batch 8: signal 11");

  const WorkerDied by_exit(3, 8, 7, 0, "out of paper");
  EXPECT_EQ(by_exit.exit_code, 7);
  EXPECT_EQ(by_exit.last_message, "out of paper");
  EXPECT_STREQ(by_exit.what(), "worker 3 died in batch 8: exit code 7: out of paper");
}

TEST(NonFiniteGradient, NamesWorkerStepParameterAndElement) {
  const NonFiniteGradient error(1, 20, "fc1.weight", 300);
  EXPECT_EQ(error.worker, 1);
  EXPECT_EQ(error.step, 20);
  EXPECT_EQ(error.name, "fc1.weight");
  EXPECT_EQ(error.index, 300);
  EXPECT_STREQ(error.what(), "step 20, worker 1: gradient of 'fc1.weight' is not finite at element 300");
}

TEST(WorkerFailed, NamesStepWorkerBatchAndCause) {
  const WorkerFailed error(4, 1, 13, "the callback's own words");
  EXPECT_EQ(error.step, 4);
  EXPECT_EQ(error.worker, 1);
  EXPECT_EQ(error.batch, 13);
  EXPECT_EQ(error.cause, "the callback's own words");
  EXPECT_STREQ(error.what(), "step 4, worker 1, batch 13: the callback's own words");
}

}  // namespace
}  // namespace viva
