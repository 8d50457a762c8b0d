// Workers as actors, on threads and in processes: messages, ends, deadlines, and a loop of one's own with the Trainer's
// bits.
#include "viva/distributed/worker.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>
#include <utility>

#include "tests/distributed/processes.h"
#include "tests/distributed/regression.h"
#include "viva/distributed/trainer.h"

namespace viva::distributed {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

// A loop that calls `answer(id, command, outbox)` for every batch.
template <typename F>
WorkerLoop answering(F answer) {
  return [answer](std::int64_t id, Inbox& inbox, Outbox& outbox) {
    for (;;) {
      const WorkerCommand command = inbox.receive();
      if (const auto* const run = std::get_if<RunBatch>(&command)) {
        answer(id, *run, outbox);
      } else {
        return;
      }
    }
  };
}

BatchGrads gradients_of(const RunBatch& run) {
  LossAndGrads computed = test::squared_error_simple<float>(run.batch, run.params);
  return {run.batch_id, {std::move(computed.grads), run.batch.size()}, computed.loss};
}

const WorkerLoop kRegression =
    answering([](std::int64_t, const RunBatch& run, Outbox& outbox) { outbox.send(gradients_of(run)); });

// The worker with id 1 does `deed` instead of answering batch 1.
template <typename F>
WorkerLoop failing(F deed) {
  return answering([deed](std::int64_t id, const RunBatch& run, Outbox& outbox) {
    if (id == 1 && run.batch_id == 1) deed();
    outbox.send(gradients_of(run));
  });
}

data::DataLoader actors_loader() {
  return {test::random_dataset<float>(24, 3), {.batch_size = 2, .shuffle = true, .seed = 3}};
}

// Batch `id` of the first epoch to worker `id`.
void send_all(const Workers& workers) {
  const auto epoch = actors_loader().batches(0);
  for (const auto& worker : workers) {
    send_batch_to_worker(*worker, worker->id(), epoch.batch(worker->id()), test::random_params<float>(3));
  }
}

class ActorTest : public testing::TestWithParam<WorkerKind> {
 protected:
  void SetUp() override {
    if (GetParam() == WorkerKind::kProcesses) test::skip_unless_single_threaded();
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, ActorTest, testing::Values(WorkerKind::kThreads, WorkerKind::kProcesses),
                         [](const auto& kind) { return kind.param == WorkerKind::kThreads ? "threads" : "processes"; });

TEST_P(ActorTest, ALoopOfOnesOwnHasTheTrainersBits) {
  const auto params = test::random_params<float>(3);
  constexpr std::int64_t kWorkers = 3, kSteps = 8;
  std::vector<Param> current = params;
  optim::Optimizer optimizer = optim::adam(0.05);
  {
    const Workers workers = spawn_workers(kWorkers, kRegression, GetParam());
    std::int64_t next = 0;
    for (std::int64_t step = 0; step < kSteps; ++step) {
      for (const auto& worker : workers) {
        const auto epoch = actors_loader().batches(next / 12);
        send_batch_to_worker(*worker, next, epoch.batch(next % 12), current);
        ++next;
      }
      const auto grads = all_reduce_grads(workers, {}, GradAggregation::kWeightedAverage);
      auto updated = optim::step(optimizer, current, grads);
      current = std::move(updated.params);
      optimizer = std::move(updated.optimizer);
    }
    EXPECT_TRUE(stop_workers(workers));
    for (const auto& worker : workers) EXPECT_FALSE(worker->running());
  }
  Trainer trainer({.num_workers = kWorkers, .aggregation = GradAggregation::kWeightedAverage}, params,
                  optim::adam(0.05), actors_loader(), test::squared_error<float>, {.executors = 2});
  trainer.run(kSteps);
  EXPECT_TRUE(test::same_bits(trainer.result().final_params, current));
}

TEST_P(ActorTest, BatchesAreAnsweredInTheirOrder) {
  const Workers workers = spawn_workers(1, kRegression, GetParam());
  const auto epoch = actors_loader().batches(0);
  for (const std::int64_t id : {5, 3, 7}) {
    send_batch_to_worker(*workers[0], id, epoch.batch(0), test::random_params<float>(3));
  }
  for (const std::int64_t id : {5, 3, 7}) {
    EXPECT_EQ(receive_grads_from_worker(*workers[0], seconds(10)).batch_id, id);
  }
  EXPECT_THROW(receive_grads_from_worker(*workers[0], seconds(10)), CommError);
}

TEST_P(ActorTest, EveryDtypeAndRoleArrivesAsItWas) {
  const auto check = answering([](std::int64_t, const RunBatch& run, Outbox& outbox) {
    outbox.send({run.batch_id,
                 {{{"inputs", run.batch.inputs.to(Dtype::kFloat32)}, {"x", run.params[1].value}}, 7},
                 run.params[0].role == ParamRole::kBuffer && run.params[1].role == ParamRole::kTrained ? 0.5 : 0});
  });
  const Workers workers = spawn_workers(1, check, GetParam());
  const Tensor images = Tensor::from_values<std::uint8_t>({1, 2, 255}), labels = Tensor::from_values<std::int64_t>({4});
  const Tensor x = Tensor::from_values<double>({0.1, -0.0});
  send_batch_to_worker(*workers[0], 0, {images, labels},
                       {{"targets", Tensor::zeros({0}), ParamRole::kBuffer}, {"x", x}});
  const BatchGrads answer = receive_grads_from_worker(*workers[0], seconds(10));
  EXPECT_EQ(answer.loss, 0.5);
  EXPECT_EQ(answer.grads.samples, 7);
  EXPECT_TRUE(bitwise_equal(answer.grads.grads[0].grad, images.to(Dtype::kFloat32)));
  EXPECT_TRUE(bitwise_equal(answer.grads.grads[1].grad, x));
}

TEST_P(ActorTest, LocalGradientsNeedNoAnswer) {
  const Workers workers = spawn_workers(2, kRegression, GetParam());
  const auto epoch = actors_loader().batches(0);
  const auto params = test::random_params<float>(3);
  send_batch_to_worker(*workers[1], 1, epoch.batch(1), params);
  const std::vector<WorkerGrads> both{gradients_of({0, epoch.batch(0), params}).grads,
                                      gradients_of({1, epoch.batch(1), params}).grads};
  const std::vector<std::optional<WorkerGrads>> local{both[0], std::nullopt};
  const auto got = all_reduce_grads(workers, local, GradAggregation::kSum);
  const auto expected = distribute_grads(both, GradAggregation::kSum);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(bitwise_equal(got[i].grad, expected[i].grad));
  EXPECT_THROW(all_reduce_grads(workers, std::vector<std::optional<WorkerGrads>>(3), GradAggregation::kSum),
               DimensionError);
}

TEST_P(ActorTest, AnExceptionArrivesWithItsMessage) {
  const Workers workers =
      spawn_workers(2, failing([] { throw std::runtime_error("the disk is on fire"); }), GetParam());
  send_all(workers);
  EXPECT_EQ(receive_grads_from_worker(*workers[0], seconds(10)).batch_id, 0);
  try {
    receive_grads_from_worker(*workers[1], seconds(10));
    FAIL() << "no error";
  } catch (const WorkerDied& error) {
    EXPECT_EQ(error.worker, 1);
    EXPECT_EQ(error.batch, 1);
    EXPECT_EQ(error.exit_code, 1);
    EXPECT_EQ(error.signal, 0);
    EXPECT_EQ(error.last_message, "the disk is on fire");
  }
  EXPECT_FALSE(workers[1]->running());
  EXPECT_TRUE(workers[0]->running());
  EXPECT_THROW(send_batch_to_worker(*workers[1], 2, actors_loader().batches(0).batch(0), {}), WorkerDied);
}

TEST_P(ActorTest, ALateAnswerIsATimeoutAndIsThrownAway) {
  const Workers workers = spawn_workers(2, failing([] { std::this_thread::sleep_for(milliseconds(400)); }), GetParam());
  send_all(workers);
  try {
    // One deadline for all of them.
    all_reduce_grads(workers, {}, GradAggregation::kSum, milliseconds(100));
    FAIL() << "no error";
  } catch (const WorkerTimeout& error) {
    EXPECT_EQ(error.worker, 1);
    EXPECT_EQ(error.batch, 1);
    EXPECT_GT(error.seconds, 0);
    EXPECT_LT(error.seconds, 0.4);
  }
  send_batch_to_worker(*workers[1], 9, actors_loader().batches(0).batch(0), test::random_params<float>(3));
  EXPECT_EQ(receive_grads_from_worker(*workers[1], seconds(10)).batch_id, 9);
}

TEST_P(ActorTest, AnotherBatchsAnswerIsAnErrorOfItsOwn) {
  const Workers workers = spawn_workers(1, answering([](std::int64_t, const RunBatch& run, Outbox& outbox) {
                                          BatchGrads answer = gradients_of(run);
                                          answer.batch_id += 100;
                                          outbox.send(std::move(answer));
                                        }),
                                        GetParam());
  send_all(workers);
  try {
    receive_grads_from_worker(*workers[0], seconds(10));
    FAIL() << "no error";
  } catch (const CommError& error) {
    EXPECT_THAT(error.what(), HasSubstr("worker 0 has answered batch 100 where batch 0 was due"));
  }
}

// A reduction that cannot be made says which of the three it was, and of whom.
TEST_P(ActorTest, DeadLateAndDifferentAreThreeErrors) {
  // The worker with id 1 answers with `change`d gradients.
  const auto reduce = [](auto change) {
    const Workers workers = spawn_workers(3, answering([change](std::int64_t id, const RunBatch& run, Outbox& outbox) {
                                            BatchGrads answer = gradients_of(run);
                                            if (id == 1) change(answer.grads.grads);
                                            outbox.send(std::move(answer));
                                          }),
                                          GetParam());
    send_all(workers);
    return all_reduce_grads(workers, {}, GradAggregation::kSum, milliseconds(200));
  };
  const auto difference = [&](auto change) -> std::string {
    try {
      reduce(change);
    } catch (const ShapeMismatch& error) {
      return error.what();
    } catch (const DimensionError& error) {
      return error.what();
    } catch (const DtypeError& error) {
      return error.what();
    }
    return "none";
  };
  using Grads = std::vector<GradPair>;
  EXPECT_THAT(difference([](Grads& grads) { grads[1].grad = Tensor::zeros({4}, Dtype::kFloat32); }),
              HasSubstr("worker 1, gradient of 'w': expected shape [3], got [4]"));
  EXPECT_THAT(difference([](Grads& grads) { grads[0].grad = grads[0].grad.to(Dtype::kFloat64); }),
              HasSubstr("worker 1, gradient of 'b': expected float32, got float64"));
  EXPECT_THAT(difference([](Grads& grads) { grads[0].name = "v"; }), HasSubstr("worker 1: no gradient for 'b'"));
  EXPECT_THAT(difference([](Grads& grads) { grads.clear(); }), HasSubstr("worker 1: expected 2 gradients"));
  // Names decide what belongs together, not their order: shapes that were swapped do not fit.
  EXPECT_THAT(difference([](Grads& grads) { std::swap(grads[0].name, grads[1].name); }),
              HasSubstr("worker 1, gradient"));
  EXPECT_EQ(difference([](Grads& grads) { std::swap(grads[0], grads[1]); }), "none");
  EXPECT_THROW(reduce([](Grads&) { throw std::runtime_error("no more"); }), WorkerDied);
  EXPECT_THROW(reduce([](Grads&) { std::this_thread::sleep_for(milliseconds(400)); }), WorkerTimeout);
}

// Whoever finds a worker dead when sending has not received all that it answered.
TEST_P(ActorTest, AnswersFromBeforeTheEndAreNotLost) {
  const Workers workers = spawn_workers(2, failing([] { throw std::runtime_error("no more"); }), GetParam());
  Worker& worker = *workers[1];
  const auto batch = actors_loader().batches(0).batch(0);
  const auto send = [&](std::int64_t id) { send_batch_to_worker(worker, id, batch, test::random_params<float>(3)); };
  for (const std::int64_t id : {5, 6, 1}) send(id);
  while (worker.running()) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_THROW(send(7), WorkerDied);
  EXPECT_THROW(send(8), WorkerDied);
  EXPECT_EQ(receive_grads_from_worker(worker, seconds(10)).batch_id, 5);
  EXPECT_EQ(receive_grads_from_worker(worker, seconds(10)).batch_id, 6);
  try {
    receive_grads_from_worker(worker, seconds(10));
    FAIL() << "no error";
  } catch (const WorkerDied& error) {
    EXPECT_EQ(error.batch, 1);
    EXPECT_THAT(error.what(), HasSubstr("no more"));
  }
}

TEST_P(ActorTest, WorkersThatAreForgottenComeToTheirEnd) {
  const std::size_t descriptors = test::open_descriptors(), children = test::children_of(::getpid()).size();
  {
    const Workers workers = spawn_workers(3, kRegression, GetParam());
    send_all(workers);
  }
  EXPECT_EQ(test::open_descriptors(), descriptors);
  EXPECT_EQ(test::children_of(::getpid()).size(), children);
}

TEST_P(ActorTest, ThereIsAtLeastOne) { EXPECT_THROW(spawn_workers(0, kRegression, GetParam()), ConfigError); }

class ActorProcess : public test::ProcessTest {};

TEST_F(ActorProcess, ASignalIsNamed) {
  const Workers workers = spawn_workers(2, failing([] { ::raise(SIGKILL); }), WorkerKind::kProcesses);
  send_all(workers);
  const auto begin = Worker::Clock::now();
  try {
    receive_grads_from_worker(*workers[1], seconds(60));
    FAIL() << "no error";
  } catch (const WorkerDied& error) {
    EXPECT_EQ(error.worker, 1);
    EXPECT_EQ(error.batch, 1);
    EXPECT_EQ(error.signal, SIGKILL);
    EXPECT_THAT(error.what(), HasSubstr("signal 9"));
  }
  EXPECT_LT(Worker::Clock::now() - begin, seconds(30));  // a death is not found out by the deadline
}

// A broken connection ends the wait for all of them, long before the time is over.
TEST_F(ActorProcess, AConnectionThatBreaksInTheMiddleEndsTheWait) {
  const Workers workers = spawn_workers(2, failing(test::close_all_descriptors), WorkerKind::kProcesses);
  send_all(workers);
  const auto begin = Worker::Clock::now();
  try {
    all_reduce_grads(workers, {}, GradAggregation::kSum, seconds(60));
    FAIL() << "no error";
  } catch (const WorkerDied& error) {
    EXPECT_EQ(error.worker, 1);
    EXPECT_EQ(error.exit_code, 1);
  }
  EXPECT_LT(Worker::Clock::now() - begin, seconds(30));
}

TEST_F(ActorProcess, TheEndOfTheZygoteEndsTheWait) {
  const Workers workers = spawn_workers(2, failing([] {
                                          ::kill(::getppid(), SIGKILL);
                                          ::pause();
                                        }),
                                        WorkerKind::kProcesses);
  send_all(workers);
  const auto begin = Worker::Clock::now();
  EXPECT_THROW(all_reduce_grads(workers, {}, GradAggregation::kSum, seconds(60)), CommError);
  EXPECT_LT(Worker::Clock::now() - begin, seconds(30));
}

TEST_F(ActorProcess, AHangIsEndedByForce) {
  const Workers workers = spawn_workers(2, failing([] { ::raise(SIGSTOP); }), WorkerKind::kProcesses);
  send_all(workers);
  EXPECT_THROW(receive_grads_from_worker(*workers[1], milliseconds(50)), WorkerTimeout);
  EXPECT_TRUE(stop_workers(workers, milliseconds(100)));
  EXPECT_FALSE(workers[1]->running());
}

TEST(ActorThread, AHangIsLeftToItself) {
  const auto released = std::make_shared<std::atomic<bool>>(false), done = std::make_shared<std::atomic<bool>>(false);
  {
    const Workers workers = spawn_workers(1, answering([released, done](std::int64_t, const RunBatch&, Outbox&) {
                                            while (!*released) std::this_thread::sleep_for(milliseconds(1));
                                            *done = true;
                                          }),
                                          WorkerKind::kThreads);
    send_batch_to_worker(*workers[0], 0, {}, {});
    EXPECT_FALSE(stop_workers(workers, milliseconds(20)));
    EXPECT_TRUE(workers[0]->running());
  }
  *released = true;
  while (!*done) std::this_thread::sleep_for(milliseconds(1));
}

}  // namespace
}  // namespace viva::distributed
