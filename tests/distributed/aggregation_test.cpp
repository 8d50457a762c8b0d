// distribute_grads and synchronous_train_step: the reference values, and what they refuse.
#include "viva/distributed/aggregation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/distributed/regression.h"

namespace viva::distributed {
namespace {

constexpr double kExact = 1e-9;

Tensor vector_of(const std::vector<double>& values) { return Tensor::from_values(values); }

double value(const GradPair& pair, std::size_t i = 0) { return pair.grad.values<double>()[i]; }

const std::vector<WorkerGrads> kTwoWorkers{{{{"w", vector_of({1})}}}, {{{"w", vector_of({3})}}}};

TEST(DistributeGrads, TwoWorkersAverageAndSum) {
  EXPECT_NEAR(value(distribute_grads(kTwoWorkers, GradAggregation::kAverage)[0]), 2, kExact);
  EXPECT_NEAR(value(distribute_grads(kTwoWorkers, GradAggregation::kSum)[0]), 4, kExact);
  EXPECT_NEAR(value(distribute_grads(kTwoWorkers, GradAggregation::kWeightedAverage)[0]), 2, kExact);
}

TEST(DistributeGrads, KeepsTheFirstWorkersOrderOfNames) {
  const std::vector<WorkerGrads> workers{{{{"w", vector_of({1, 1})}, {"b", vector_of({2})}}},
                                         {{{"b", vector_of({4})}, {"w", vector_of({3, 3})}}}};
  const auto grads = distribute_grads(workers, GradAggregation::kAverage);
  ASSERT_EQ(grads.size(), 2U);
  EXPECT_EQ(grads[0].name, "w");
  EXPECT_EQ(grads[1].name, "b");
  EXPECT_NEAR(value(grads[0], 0), 2, kExact);
  EXPECT_NEAR(value(grads[0], 1), 2, kExact);
  EXPECT_NEAR(value(grads[1]), 3, kExact);
}

TEST(DistributeGrads, LeavesItsArgumentsAlone) {
  distribute_grads(kTwoWorkers, GradAggregation::kSum);
  EXPECT_EQ(value(kTwoWorkers[0].grads[0]), 1);
  const std::vector<WorkerGrads> one{{{{"w", vector_of({5})}}, 3}};
  const auto grads = distribute_grads(one, GradAggregation::kWeightedAverage);
  EXPECT_NEAR(value(grads[0]), 5, kExact);
  grads[0].grad.mutable_values<double>()[0] = 7;
  EXPECT_EQ(value(one[0].grads[0]), 5);
}

TEST(DistributeGrads, NoWorkersIsAnError) { EXPECT_THROW(distribute_grads({}, GradAggregation::kSum), DimensionError); }

TEST(DistributeGrads, OtherShapesAreAShapeMismatch) {
  const std::vector<WorkerGrads> workers{{{{"w", vector_of({1, 1})}}}, {{{"w", vector_of({1})}}}};
  try {
    distribute_grads(workers, GradAggregation::kAverage);
    FAIL() << "no error";
  } catch (const ShapeMismatch& error) {
    EXPECT_EQ(error.expected, Shape{2});
    EXPECT_EQ(error.got, Shape{1});
    EXPECT_NE(std::string(error.what()).find("worker 1"), std::string::npos) << error.what();
  }
}

TEST(DistributeGrads, OtherNamesAreADimensionErrorThatNamesThem) {
  const auto expect_named = [](const std::vector<WorkerGrads>& workers, const std::string& name) {
    try {
      distribute_grads(workers, GradAggregation::kAverage);
      FAIL() << "no error";
    } catch (const DimensionError& error) {
      EXPECT_EQ(error.name, name) << error.what();
    }
  };
  const GradPair w{"w", vector_of({1})}, b{"b", vector_of({1})}, c{"c", vector_of({1})};
  expect_named({{{w, b}}, {{w, c}}}, "b");
  expect_named({{{w, b}}, {{w}}}, "");
  expect_named({{{w, b}}, {{w, w}}}, "w");
  expect_named({{{w, w}}}, "w");
}

TEST(DistributeGrads, OtherDtypesAreADtypeError) {
  const std::vector<WorkerGrads> mixed{{{{"w", vector_of({1})}}}, {{{"w", vector_of({1}).to(Dtype::kFloat32)}}}};
  EXPECT_THROW(distribute_grads(mixed, GradAggregation::kSum), DtypeError);
  const std::vector<WorkerGrads> integers{{{{"w", vector_of({1}).to(Dtype::kInt32)}}}};
  EXPECT_THROW(distribute_grads(integers, GradAggregation::kSum), DtypeError);
}

// Batches of 3 and 1 samples: the gradient of the mean loss over all four, not a mean of means.
TEST(DistributeGrads, WeightedAverageCountsSamples) {
  const std::vector<WorkerGrads> workers{{{{"w", vector_of({10})}}, 3}, {{{"w", vector_of({2})}}, 1}};
  EXPECT_NEAR(value(distribute_grads(workers, GradAggregation::kWeightedAverage)[0]), (3 * 10 + 2) / 4.0, kExact);
  EXPECT_NEAR(value(distribute_grads(workers, GradAggregation::kAverage)[0]), 6, kExact);
}

TEST(DistributeGrads, AWorkerWithoutSamplesWeighsNothing) {
  const std::vector<WorkerGrads> workers{{{{"w", vector_of({10})}}, 4}, {{{"w", vector_of({2})}}, 0}};
  EXPECT_NEAR(value(distribute_grads(workers, GradAggregation::kWeightedAverage)[0]), 10, kExact);
  const std::vector<WorkerGrads> none{{{{"w", vector_of({10})}}, 0}};
  EXPECT_THROW(distribute_grads(none, GradAggregation::kWeightedAverage), DimensionError);
  const std::vector<WorkerGrads> negative{{{{"w", vector_of({10})}}, -1}};
  EXPECT_THROW(distribute_grads(negative, GradAggregation::kSum), DimensionError);
}

TEST(SynchronousTrainStep, SgdWithAverageAndSum) {
  const std::vector<Param> params{{"w", vector_of({1})}};
  const std::vector<WorkerGrads> workers{{{{"w", vector_of({1})}}}, {{{"w", vector_of({1})}}}};
  const auto stepped = [&](GradAggregation aggregation) {
    return synchronous_train_step(optim::sgd(0.1), params, workers, aggregation).params[0].value.item();
  };
  EXPECT_NEAR(stepped(GradAggregation::kAverage), 0.9, kExact);
  EXPECT_NEAR(stepped(GradAggregation::kSum), 0.8, kExact);
  EXPECT_EQ(params[0].value.item(), 1);
}

// The order of additions is ((0 1)(2 3)) 4, and each is rounded by itself.
TEST(DistributeGrads, AddsInTheCanonicalOrder) {
  const std::vector<float> v{1e8F, 3.3F, -1e8F, 7.7F, 0.1F};
  std::vector<WorkerGrads> workers;
  for (const float x : v) workers.push_back({{{"w", Tensor::from_values(std::vector<float>{x})}}});
  const float expected = ((v[0] + v[1]) + (v[2] + v[3])) + v[4];
  EXPECT_EQ(distribute_grads(workers, GradAggregation::kSum)[0].grad.values<float>()[0], expected);
}

RC_GTEST_PROP(DistributeGradsProperty, EqualGradientsAverageToThemselves, ()) {
  const auto workers = *rc::gen::inRange(1, 40);
  const auto x = *rc::gen::inRange(-1000, 1000);
  const std::vector<WorkerGrads> all(static_cast<std::size_t>(workers), {{{"w", vector_of({x / 8.0})}}, 5});
  RC_ASSERT(std::abs(value(distribute_grads(all, GradAggregation::kAverage)[0]) - x / 8.0) < kExact);
  RC_ASSERT(std::abs(value(distribute_grads(all, GradAggregation::kWeightedAverage)[0]) - x / 8.0) < kExact);
  RC_ASSERT(std::abs(value(distribute_grads(all, GradAggregation::kSum)[0]) - workers * x / 8.0) < kExact);
}

}  // namespace
}  // namespace viva::distributed
