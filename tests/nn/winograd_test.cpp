// How Winograd's algorithm rounds beside the direct one, on the second convolution of a cnn that has begun to learn
// Fashion-MNIST. docs/algorithms.md has what this prints, and the bounds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include "tests/nn/model_gradients.h"
#include "tests/tensor/conv2d_cases.h"
#include "viva/autograd/pointwise.h"
#include "viva/autograd/shape.h"
#include "viva/data/idx.h"
#include "viva/distributed/trainer.h"
#include "viva/nn/classifier.h"
#include "viva/nn/cnn.h"
#include "viva/nn/layers.h"

namespace viva::nn {
namespace {

const std::string kDirectory = "/usr/share/datasets/fashion-mnist/";

constexpr Conv2dShape kSecond{
    .batch = 16, .in_channels = 32, .height = 26, .width = 26, .out_channels = 64, .kernel_h = 3, .kernel_w = 3};

struct Operands {
  Tensor input, weight, grad_output;
};

// Of the second convolution, for the first training images, after 20 steps.
Operands operands_of_training() {
  const Model model = cnn({.algorithm = Conv2dAlgorithm::kDirect});
  const data::Dataset images =
      data::load_idx_dataset(kDirectory + "train-images-idx3-ubyte.gz", kDirectory + "train-labels-idx1-ubyte.gz");
  const data::DataLoader loader(images, {.batch_size = 32, .shuffle = true});
  distributed::Trainer trainer({}, model.initial_params(1), optim::adam(1e-3), loader, classifier_loss(model));
  trainer.run(20);

  std::vector<std::int64_t> first(static_cast<std::size_t>(kSecond.batch));
  std::iota(first.begin(), first.end(), 0);
  data::Batch batch = images.make_batch(kSecond.batch);
  images.gather(first, batch);
  Arena arena;
  const Model beginning(Conv2d(1, 32, 3), Relu());
  const Tensor input =
      outputs(beginning, trainer.params().first(2), batch.inputs.reshape({kSecond.batch, 1, 28, 28}), arena).clone();

  // The gradient of the convolution's result is that of zeros added to it.
  std::vector<Param> params(trainer.params().begin() + 2, trainer.params().end());
  params.push_back({"zeros", Tensor::zeros(kSecond.output_shape())});
  const auto rest = [](const data::Batch& b, const Params& p) {
    const Variable z = autograd::conv2d(p.constant(b.inputs), p[0], p[1]) + p["zeros"];
    const Variable pooled =
        autograd::max_pool2d(autograd::relu(z), {.kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2});
    const Variable hidden = autograd::relu(autograd::linear(autograd::flatten(pooled), p[2], p[3]));
    return autograd::cross_entropy(autograd::linear(hidden, p[4], p[5]), b.targets);
  };
  const auto gradients = test::gradients_of(autograd::value_and_grad(rest), {input, batch.targets}, params);
  return {input, params[0].value.clone(), gradients.grads.back()};
}

double root_mean_square(std::span<const double> values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0) /
                   static_cast<double>(values.size()));
}

// Errors in units of the root mean square of the exact values.
struct Errors {
  double mean = 0, largest = 0;  // `mean` is the root mean square
};

Errors errors(const Tensor& got, const Tensor& exact) {
  const Tensor differences = got.to(Dtype::kFloat64);
  double largest = 0;
  for (std::size_t i = 0; i < differences.values<double>().size(); ++i) {
    double& difference = differences.mutable_values<double>()[i];
    difference -= exact.values<double>()[i];
    largest = std::max(largest, std::abs(difference));
  }
  const double unit = root_mean_square(exact.values<double>());
  return {root_mean_square(differences.values<double>()) / unit, largest / unit};
}

TEST(Winograd, RoundsWithinBoundsWhereACnnLearns) {
  if (!std::filesystem::exists(kDirectory)) GTEST_SKIP() << "Debian's package dataset-fashion-mnist is not installed";
  Conv2dShape winograd = kSecond;
  winograd.algorithm = Conv2dAlgorithm::kWinograd;
  const auto [input, weight, grad_output] = operands_of_training();
  const KernelScope scope;
  const Conv2dResults exact = Conv2dCase<double>(kSecond, input, weight, grad_output).run();
  const Conv2dResults by_direct = Conv2dCase<float>(kSecond, input, weight, grad_output).run();
  const Conv2dResults by_winograd = Conv2dCase<float>(winograd, input, weight, grad_output).run();
  struct Result {
    const char* name;
    Tensor Conv2dResults::*tensor;
  };
  for (const auto& [name, tensor] : {Result{"output", &Conv2dResults::output},
                                     {"data gradient", &Conv2dResults::grad_input},
                                     {"weight gradient", &Conv2dResults::grad_weight}}) {
    const Errors d = errors(by_direct.*tensor, exact.*tensor), w = errors(by_winograd.*tensor, exact.*tensor);
    std::cout << name << ": direct " << d.mean << ", largest " << d.largest << "; Winograd " << w.mean << ", largest "
              << w.largest << "\n";
    EXPECT_FALSE(bitwise_equal(by_direct.*tensor, by_winograd.*tensor)) << name;
    EXPECT_LE(w.mean, 1e-6) << name;
    EXPECT_LE(w.largest, 3e-5) << name;
  }
}

}  // namespace
}  // namespace viva::nn
