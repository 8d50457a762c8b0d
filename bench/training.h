// The reference models in training: two workers, on Fashion-MNIST (mlp, cnn) or on a text (gpt).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "viva/data/dataset.h"
#include "viva/distributed/fault_injection.h"
#include "viva/distributed/trainer.h"
#include "viva/nn/model.h"
#include "viva/optim/optimizer.h"

namespace viva::bench {

inline constexpr std::int64_t kWorkers = 2;

// What is trained, and how: viva and its rivals do the same.
struct Problem {
  std::string name;  // "mlp", "cnn", "gpt"
  nn::Model model;
  data::Dataset dataset;
  optim::Optimizer optimizer;
  std::int64_t batch_size = 64;  // of one worker
  // Floating-point operations a sample of a step's matrix products and convolutions, as the direct algorithms have
  // them: forward, and the gradients of weights and activations.
  double flops_per_sample = 0;
  int steps = 0, warm_up_steps = 0;
  double learnt_loss = 0;  // a model that learns is below this at the end

  std::int64_t parameters() const;
};

// IoError where the data is not installed; Error for another name.
Problem make_problem(const std::string& name);

// What the death of a worker process costs, in milliseconds.
struct Recovery {
  double extra = 0;  // how much longer its step took than the median step
  double lost = 0;   // of that, what it had computed and was computed again
};

class Training {
 public:
  explicit Training(Problem problem) : problem_(std::move(problem)) {}

  // Samples a second on this many executors; Error where the training did not learn or where its parameters are not
  // those of the first measurement, bit for bit. Executors in processes need a caller with a single thread.
  double measure(int executors, distributed::ExecutorKind kind = distributed::ExecutorKind::kThreads);

  // Two worker processes, one of which dies at a random moment of every sixth step; one value a kill. Checked as above.
  std::vector<Recovery> measure_recovery();

  const Problem& problem() const { return problem_; }

 private:
  distributed::Trainer make_trainer(const distributed::TrainerOptions& options,
                                    std::vector<distributed::Fault> kills = {}) const;
  double milliseconds_a_step();
  void check(const distributed::Trainer& trainer);

  Problem problem_;
  std::vector<Param> first_result_;
  unsigned recoveries_measured_ = 0;  // each has other moments
};

}  // namespace viva::bench
