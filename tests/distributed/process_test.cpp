// Workers in processes: the reference's bits, whoever dies; errors by name; nothing is left behind.
#include <dirent.h>
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <thread>

#include "tests/distributed/faulty.h"
#include "tests/distributed/processes.h"
#include "tests/distributed/regression.h"
#include "viva/distributed/trainer.h"

namespace viva::distributed {
namespace {

using std::chrono::milliseconds;
using test::faulty;
using test::processes;
using test::seeded_loader;
using test::SharedCounter;
using testing::HasSubstr;

class Processes : public test::ProcessTest {};

TEST_F(Processes, GiveTheReferencesBits) {
  for (std::int64_t executors = 1; executors <= 8; ++executors) {
    TrainConfig config{.num_workers = 7, .batches_per_step = 10, .epochs = 3};
    if (executors % 2 == 0) config.clipping.norm = 0.1;
    if (executors % 3 == 0) config.non_finite = NonFinite::kSkip;
    const auto params = test::params_with_buffer<double>(4100);
    const data::DataLoader loader(test::random_dataset<double>(75, 4100), {.batch_size = 2, .shuffle = true});
    const auto optimizer = optim::adamw(0.01, 0.1);
    const auto reference = train_synchronous(config, params, optimizer, loader, test::tracked_error<double>, -1);
    Trainer trainer(config, params, optimizer, loader, test::tracked_error<double>, processes(executors));
    trainer.run(5);
    trainer.run(-1);
    EXPECT_TRUE(test::same_bits(trainer.result(), reference)) << executors;
    EXPECT_EQ(trainer.progress().restarts, 0);
  }
}

struct Fault {
  const char* name;
  void (*strike)(std::span<const Param>);
  const char* end;
};

class WorkerDeath : public test::ProcessTest, public testing::WithParamInterface<Fault> {};

INSTANTIATE_TEST_SUITE_P(Faults, WorkerDeath,
                         testing::Values(Fault{"kill", [](auto) { ::raise(SIGKILL); }, "signal 9 (SIGKILL)"},
                                         Fault{"segmentation", [](auto) { ::raise(SIGSEGV); }, "signal 11 (SIGSEGV)"},
                                         Fault{"abort", [](auto) { std::abort(); }, "signal 6 (SIGABRT)"},
                                         Fault{"exit", [](auto) { ::_exit(0); }, "exit code 0"},
                                         Fault{"stop", [](auto) { ::raise(SIGSTOP); }, "gave no answer for"},
                                         Fault{"parameters",
                                               [](std::span<const Param> params) {
                                                 params[0].value.mutable_values<float>()[1] = 7;
                                               },
                                               "signal 11 (SIGSEGV)"}),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(WorkerDeath, IsMadeGoodWithoutATrace) {
  const TrainConfig config{.num_workers = 4, .batches_per_step = 6};
  const auto params = test::random_params<float>(3);
  const auto reference =
      train_synchronous(config, params, optim::adam(0.1), seeded_loader(), test::squared_error<float>, 10);
  for (const std::int64_t executors : {1, 2, 4}) {
    const SharedCounter attempts;
    std::vector<std::string> lines;
    TrainerOptions options = processes(executors);
    options.step_timeout = std::string(GetParam().name) == "stop" ? milliseconds(300) : milliseconds(60'000);
    options.log = [&](LogLevel level, std::string_view line) {
      // Not the one about more executors than CPUs.
      if (level == LogLevel::kWarning && line.starts_with("step")) lines.emplace_back(line);
    };
    Trainer trainer(config, params, optim::adam(0.1), seeded_loader(), faulty(attempts, 1, GetParam().strike), options);
    EXPECT_EQ(trainer.run(10), 10);
    EXPECT_TRUE(test::same_bits(trainer.result(), reference)) << executors;
    EXPECT_EQ(trainer.progress().restarts, 1);
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_THAT(lines[0], HasSubstr("step 3: executor "));
    EXPECT_THAT(lines[0], HasSubstr(GetParam().end));
    EXPECT_THAT(lines[0], HasSubstr("in batch 20 of worker 2; replaced"));
  }
}

// Results travel through shared memory and are waited for there: a worker needs no descriptor.
TEST_F(Processes, AWorkerThatClosesAllDescriptorsComputesOn) {
  const TrainConfig config{.num_workers = 4, .batches_per_step = 6};
  const auto params = test::random_params<float>(3);
  const SharedCounter attempts;
  const auto close_all = [](auto) { test::close_all_descriptors(); };
  Trainer trainer(config, params, optim::adam(0.1), seeded_loader(), faulty(attempts, 1, close_all), processes(2));
  EXPECT_EQ(trainer.run(10), 10);
  EXPECT_EQ(attempts.value(), 1);
  EXPECT_TRUE(test::same_bits(trainer.result(), train_synchronous(config, params, optim::adam(0.1), seeded_loader(),
                                                                  test::squared_error<float>, 10)));
  EXPECT_EQ(trainer.progress().restarts, 0);
  // Its death is still seen at once.
  test::kill_workers();
  EXPECT_EQ(trainer.run(5), 5);
  EXPECT_EQ(trainer.progress().restarts, 2);
}

TEST_F(Processes, AWorkerWithoutMemoryFailsByItsRightName) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer ends a process that has no memory";
#endif
  const auto params = test::random_params<float>(3);
  const auto exhaust = [](auto) {
    const rlimit limit{1 << 30, 1 << 30};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) std::abort();
    for (std::vector<std::vector<double>> kept;;) kept.emplace_back(1 << 20, 1.0);
  };
  for (const bool retried : {false, true}) {
    const SharedCounter attempts;
    TrainerOptions options = processes(2);
    options.attempts_per_batch = retried ? 2 : 1;
    Trainer trainer({.num_workers = 4}, params, optim::adam(0.1), seeded_loader(), faulty(attempts, 1, exhaust),
                    options);
    if (retried) {
      EXPECT_EQ(trainer.run(10), 10);
      EXPECT_EQ(trainer.progress().retries, 1);
      continue;
    }
    try {
      trainer.run(10);
      FAIL() << "no error";
    } catch (const WorkerFailed& error) {
      EXPECT_EQ(error.step, 3);
      EXPECT_EQ(error.worker, 2);
      EXPECT_EQ(error.cause, "std::bad_alloc");
    }
  }
}

TEST_F(Processes, ABatchThatKillsAgainAndAgainEndsTraining) {
  const TrainConfig config{.num_workers = 4};
  const auto params = test::random_params<float>(3);
  const auto reference =
      train_synchronous(config, params, optim::adam(0.1), seeded_loader(), test::squared_error<float>, 3);
  const SharedCounter attempts;
  const auto compute = faulty(attempts, 5, [](auto) { ::raise(SIGBUS); });
  Trainer trainer(config, params, optim::adam(0.1), seeded_loader(), compute, processes(2));
  try {
    trainer.run(10);
    FAIL() << "no error";
  } catch (const WorkerDied& error) {
    EXPECT_EQ(error.worker, 2);
    EXPECT_EQ(error.batch, 14);
    EXPECT_EQ(error.signal, SIGBUS);
    EXPECT_THAT(error.what(), HasSubstr("step 3, samples "));
    EXPECT_THAT(error.what(), HasSubstr("worker process number 3 that the batch ended"));
  }
  EXPECT_EQ(attempts.value(), 3);
  EXPECT_TRUE(test::same_bits(trainer.result(), reference));
  // Two deaths are left, and the next run bears them.
  EXPECT_EQ(trainer.run(7), 7);
  EXPECT_EQ(attempts.value(), 6);
  EXPECT_TRUE(test::same_bits(trainer.result(), train_synchronous(config, params, optim::adam(0.1), seeded_loader(),
                                                                  test::squared_error<float>, 10)));
}

TEST_F(Processes, ABatchThatHangsAgainAndAgainIsATimeout) {
  const SharedCounter attempts;
  TrainerOptions options = processes(2);
  options.step_timeout = milliseconds(100);
  Trainer trainer({.num_workers = 4}, test::random_params<float>(3), optim::sgd(0.1), seeded_loader(),
                  faulty(attempts, 3, [](auto) { ::pause(); }), options);
  try {
    trainer.run(10);
    FAIL() << "no error";
  } catch (const WorkerTimeout& error) {
    EXPECT_EQ(error.worker, 2);
    EXPECT_EQ(error.batch, 14);
    EXPECT_GE(error.seconds, 0.1);
    EXPECT_THAT(error.what(), HasSubstr("step 3, samples "));
  }
  EXPECT_EQ(trainer.run(2), 2);
}

TEST_F(Processes, TooManyRestartsEndTraining) {
  const auto compute = [](const StepContext& context, const data::Batch& batch, std::span<const Param> params,
                          GradSink& sink) {
    static int calls = 0;
    if (context.worker == 0 && ++calls == 3) ::raise(SIGKILL);
    return test::squared_error<float>(context, batch, params, sink);
  };
  TrainerOptions options = processes(1);
  options.recovery.restarts = 4;
  Trainer trainer({.num_workers = 1}, test::random_params<float>(3), optim::sgd(0.1), seeded_loader(), compute,
                  options);
  try {
    trainer.run(100);
    FAIL() << "no error";
  } catch (const WorkerDied& error) {
    EXPECT_THAT(error.what(), HasSubstr("more than the 4th time"));
  }
  // Every process made two steps, and the fifth one's death was one too many.
  EXPECT_EQ(trainer.result().steps, 10);
}

// Of three executors the last one is given up in step 3 and the second one in step 6; the first one goes on with all
// workers.
class FewerProcesses : public test::ProcessTest {
 protected:
  const TrainConfig config_{.num_workers = 5, .batches_per_step = 7};

  Trainer make_trainer(std::int64_t min_processes, std::vector<std::string>& lines) const {
    const auto compute = [](const StepContext& context, const data::Batch& batch, std::span<const Param> params,
                            GradSink& sink) {
      // A process computes worker 0 before all others, or is not the first executor's.
      static const bool doomed = context.worker != 0;
      if (doomed && context.step >= (context.worker >= 3 ? 3 : 6)) ::raise(SIGKILL);
      return test::squared_error<float>(context, batch, params, sink);
    };
    TrainerOptions options = processes(3);
    options.recovery.deaths_per_batch = 5;
    options.recovery.restarts = 3;
    options.recovery.min_processes = min_processes;
    options.log = [&lines](LogLevel, std::string_view line) {
      if (line.find("lost for good") != std::string_view::npos) lines.emplace_back(line);
    };
    return {config_, params_, optim::adam(0.1), seeded_loader(), compute, options};
  }
  TrainResult reference(std::int64_t steps) const {
    return train_synchronous(config_, params_, optim::adam(0.1), seeded_loader(), test::squared_error<float>, steps);
  }

  const std::vector<Param> params_ = test::random_params<float>(3);
};

TEST_F(FewerProcesses, GoOnWithTheSameBits) {
  std::vector<std::string> lines;
  Trainer trainer = make_trainer(1, lines);
  EXPECT_EQ(trainer.run(20), 20);
  EXPECT_TRUE(test::same_bits(trainer.result(), reference(20)));
  EXPECT_EQ(lines,
            (std::vector<std::string>{"step 3: executor 2 is lost for good; executor 0 takes over its workers",
                                      "step 6: executor 1 is lost for good; executor 0 takes over its workers"}));
  EXPECT_EQ(trainer.progress().restarts, 6);
  // The heir of all is mortal too, and its replacement computes all of its blocks.
  test::kill_workers();
  EXPECT_EQ(trainer.run(5), 5);
  EXPECT_TRUE(test::same_bits(trainer.result(), reference(25)));
  EXPECT_EQ(trainer.progress().restarts, 7);
}

TEST_F(FewerProcesses, GoOnNoFurtherThanIsAllowed) {
  for (const std::int64_t min_processes : {0, 2, 3}) {
    std::vector<std::string> lines;
    Trainer trainer = make_trainer(min_processes, lines);
    EXPECT_THROW(trainer.run(20), WorkerDied);
    const std::int64_t steps = min_processes == 2 ? 6 : 3;
    EXPECT_EQ(trainer.result().steps, steps);
    EXPECT_TRUE(test::same_bits(trainer.result(), reference(steps)));
    EXPECT_EQ(lines.size(), min_processes == 2 ? 1U : 0U);
  }
}

TEST_F(Processes, AnExceptionIsTheWorkersFailure) {
  const TrainConfig config{.num_workers = 4, .batches_per_step = 8};
  const auto params = test::random_params<float>(3);
  const auto reference =
      train_synchronous(config, params, optim::adam(0.1), seeded_loader(), test::squared_error<float>, 3);
  const SharedCounter attempts;
  const auto compute = faulty(attempts, 1, [](auto) { throw std::runtime_error("the disk is on fire"); });
  Trainer trainer(config, params, optim::adam(0.1), seeded_loader(), compute, processes(3));
  try {
    trainer.run(10);
    FAIL() << "no error";
  } catch (const WorkerFailed& error) {
    EXPECT_EQ(error.step, 3);
    EXPECT_EQ(error.worker, 2);
    EXPECT_EQ(error.batch, 26);
    EXPECT_EQ(error.cause, "the disk is on fire");
  }
  EXPECT_TRUE(test::same_bits(trainer.result(), reference));
  EXPECT_EQ(trainer.run(1), 1);
  EXPECT_EQ(trainer.progress().restarts, 0);
}

// A cause of any length and content comes through whole or cut, never in pieces of another one.
TEST_F(Processes, ALongCauseIsCut) {
  const SharedCounter attempts;
  const auto compute = faulty(attempts, 1, [](auto) { throw std::runtime_error(std::string(100'000, 'x')); });
  Trainer trainer({.num_workers = 4}, test::random_params<float>(3), optim::sgd(0.1), seeded_loader(), compute,
                  processes(2));
  try {
    trainer.run(10);
    FAIL() << "no error";
  } catch (const WorkerFailed& error) {
    EXPECT_EQ(error.cause, std::string(error.cause.size(), 'x'));
    EXPECT_GT(error.cause.size(), 1000U);
  }
}

TEST_F(Processes, TheGuardNamesItsElement) {
  const auto compute = [](const StepContext& context, const data::Batch& batch, std::span<const Param> params,
                          GradSink& sink) {
    const double loss = test::squared_error<float>(context, batch, params, sink);
    if (context.step == 2 && context.worker == 3) sink.grad(0).mutable_values<float>()[1] = NAN;
    return loss;
  };
  Trainer trainer({.num_workers = 4, .non_finite = NonFinite::kError}, test::random_params<float>(3), optim::sgd(0.1),
                  seeded_loader(), compute, processes(2));
  try {
    trainer.run(10);
    FAIL() << "no error";
  } catch (const NonFiniteGradient& error) {
    EXPECT_EQ(error.worker, 3);
    EXPECT_EQ(error.step, 2);
    EXPECT_EQ(error.name, "w");
    EXPECT_EQ(error.index, 1);
  }
}

// A worker may write its own gradients, and neither another executor's nor anything that outlives it.
TEST_F(Processes, AWorkerCannotReachTheGradientsOfAnother) {
  const auto place = make_shared_bytes(sizeof(float*));
  auto* const first_worker = new (place.get()) std::atomic<float*>(nullptr);
  const SharedCounter attempts;
  const auto compute = [=](const StepContext& context, const data::Batch& batch, std::span<const Param> params,
                           GradSink& sink) {
    const double loss = test::squared_error<float>(context, batch, params, sink);
    if (context.worker == 0) first_worker->store(sink.grad(0).mutable_values<float>().data());
    if (context.worker == 1 && context.step == 1 && attempts.next() == 0) *first_worker->load() = 1;
    return loss;
  };
  Trainer trainer({.num_workers = 2}, test::random_params<float>(3), optim::sgd(0.1), seeded_loader(), compute,
                  processes(2));
  EXPECT_EQ(trainer.run(3), 3);
  EXPECT_EQ(trainer.progress().restarts, 1);
}

TEST_F(Processes, TheEndOfTheZygoteEndsTheRunByName) {
  Trainer trainer({.num_workers = 2}, test::random_params<float>(3), optim::sgd(0.001), seeded_loader(),
                  test::squared_error<float>, processes(2));
  trainer.run(2);
  const auto children = test::children_of(::getpid());
  ASSERT_EQ(children.size(), 1U);
  ::kill(children[0], SIGKILL);
  try {
    // Its workers need some microseconds to die.
    trainer.run(100'000);
    FAIL() << "no error";
  } catch (const CommError& error) {
    EXPECT_THAT(error.what(), HasSubstr("the process that starts the workers (pid " + std::to_string(children[0])));
    EXPECT_THAT(error.what(), HasSubstr("signal 9 (SIGKILL)"));
  }
  EXPECT_THROW(trainer.run(1), CommError);
}

TEST_F(Processes, AWorkerThatDiesBetweenStepsIsReplacedToo) {
  Trainer trainer({.num_workers = 2}, test::random_params<float>(3), optim::sgd(0.1), seeded_loader(),
                  test::squared_error<float>, processes(2));
  EXPECT_EQ(trainer.run(2), 2);
  test::kill_workers();
  EXPECT_EQ(trainer.run(2), 2);
  EXPECT_EQ(trainer.progress().restarts, 2);
}

TEST_F(Processes, NothingIsLeftBehindAfterManyDeaths) {
  const std::size_t descriptors = test::open_descriptors();
  const auto compute = [](const StepContext& context, const data::Batch& batch, std::span<const Param> params,
                          GradSink& sink) {
    static int calls = 0;
    if (++calls == 3) ::raise(SIGKILL);
    return test::squared_error<float>(context, batch, params, sink);
  };
  {
    Trainer trainer({.num_workers = 4}, test::random_params<float>(3), optim::sgd(0.1), seeded_loader(), compute,
                    processes(4));
    EXPECT_EQ(trainer.run(10), 10);
    const std::size_t while_training = test::open_descriptors();
    const auto zygote = test::children_of(::getpid());
    ASSERT_EQ(zygote.size(), 1U);
    const std::size_t in_zygote = test::open_descriptors(zygote[0]);
    EXPECT_EQ(trainer.run(50), 50);
    EXPECT_GE(trainer.progress().restarts, 80);
    EXPECT_EQ(test::open_descriptors(), while_training);
    EXPECT_EQ(test::open_descriptors(zygote[0]), in_zygote);
    const auto workers = test::children_of(zygote[0]);
    EXPECT_EQ(workers.size(), 4U);
    // What the test itself had open, and nothing of the pool's.
    for (const pid_t worker : workers) EXPECT_EQ(test::open_descriptors(worker), descriptors);
    for (const pid_t worker : workers) EXPECT_EQ(test::threads_of(worker), 1U);
  }
  EXPECT_EQ(test::open_descriptors(), descriptors);
  EXPECT_TRUE(test::children_of(::getpid()).empty());
}

// Another process trains, and is killed in the middle of it: within a second nothing of the run is there any more. A
// zygote that has been stopped cannot see the end of its socket; the kernel ends it all the same.
class EndOfTheCoordinator : public test::ProcessTest, public testing::WithParamInterface<bool> {
 protected:
  // Orphans come to this process, where they can be seen.
  void SetUp() override {
    test::ProcessTest::SetUp();
    ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  }
  void TearDown() override { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }

  [[noreturn]] static void train_for_long() {
    const auto slow = [](const StepContext& context, const data::Batch& batch, std::span<const Param> params,
                         GradSink& sink) {
      std::this_thread::sleep_for(milliseconds(context.worker == 0 ? 1 : 5));
      return test::squared_error<float>(context, batch, params, sink);
    };
    Trainer trainer({.num_workers = 3}, test::random_params<float>(3), optim::sgd(0.001), seeded_loader(), slow,
                    processes(3));
    trainer.run(1'000'000);
    ::_exit(0);
  }
};

INSTANTIATE_TEST_SUITE_P(Zygote, EndOfTheCoordinator, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "stopped" : "running"; });

TEST_P(EndOfTheCoordinator, EndsEverything) {
  const pid_t coordinator = ::fork();
  if (coordinator == 0) train_for_long();
  const auto now = [] { return std::chrono::steady_clock::now(); };
  std::vector<pid_t> zygote, workers;
  for (const auto deadline = now() + std::chrono::seconds(10); workers.size() < 3 && now() < deadline;) {
    std::this_thread::sleep_for(milliseconds(5));
    zygote = test::children_of(coordinator);
    if (!zygote.empty()) workers = test::children_of(zygote[0]);
  }
  ASSERT_EQ(workers.size(), 3U);
  std::this_thread::sleep_for(milliseconds(50));
  if (GetParam()) ::kill(zygote[0], SIGSTOP);
  ::kill(coordinator, SIGKILL);
  EXPECT_EQ(::waitpid(coordinator, nullptr, 0), coordinator);
  const auto all_gone = [] {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    return test::children_of(::getpid()).empty();
  };
  for (const auto deadline = now() + std::chrono::seconds(1); !all_gone() && now() < deadline;) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_TRUE(all_gone());
  workers.push_back(zygote[0]);
  for (const pid_t pid : workers) {
    EXPECT_FALSE(std::filesystem::exists("/proc/" + std::to_string(pid))) << pid;
    if (HasFailure()) ::kill(pid, SIGKILL);
  }
}

TEST_F(Processes, SeveralTrainersMayBeCreatedBeforeTheFirstRuns) {
  const auto params = test::random_params<float>(3);
  const auto reference =
      train_synchronous({.num_workers = 3}, params, optim::sgd(0.1), seeded_loader(), test::squared_error<float>, 5);
  Trainer first({.num_workers = 3}, params, optim::sgd(0.1), seeded_loader(), test::squared_error<float>, processes(2));
  Trainer second({.num_workers = 3}, params, optim::sgd(0.1), seeded_loader(), test::squared_error<float>,
                 processes(3));
  EXPECT_EQ(first.run(5), 5);
  EXPECT_EQ(second.run(5), 5);
  EXPECT_TRUE(test::same_bits(first.result(), reference));
  EXPECT_TRUE(test::same_bits(second.result(), reference));
}

TEST_F(Processes, AProcessWithThreadsIsToldWhatToDo) {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) std::this_thread::sleep_for(milliseconds(1));
  });
  try {
    Trainer trainer({.num_workers = 2}, test::random_params<float>(3), optim::sgd(0.1), seeded_loader(),
                    test::squared_error<float>, processes(2));
    ADD_FAILURE() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("this one has 2"));
    EXPECT_THAT(error.what(), HasSubstr("create the Trainer before"));
  }
  stop = true;
  other.join();
  EXPECT_TRUE(test::children_of(::getpid()).empty());
}

}  // namespace
}  // namespace viva::distributed
