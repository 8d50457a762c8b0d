// A gradient of one's own, without autograd: linear regression, trained by four workers.
#include <cstdio>

#include "viva/distributed/trainer.h"

int main() {
  using namespace viva;
  // y = 2x + 1, sixteen samples.
  std::vector<float> x, y;
  for (int i = 0; i < 16; ++i) x.push_back(static_cast<float>(i) / 16), y.push_back(2 * x.back() + 1);
  const auto dataset = data::Dataset::from_tensors(Tensor::from_values(x), Tensor::from_values(y));

  // The mean squared error of a batch and its gradient; runs on many threads at once.
  const auto compute_grads = [](const data::Batch& batch, std::span<const Param> params) {
    const float w = params[0].value.values<float>()[0], b = params[1].value.values<float>()[0];
    const auto inputs = batch.inputs.values<float>(), targets = batch.targets.values<float>();
    float loss = 0, dw = 0, db = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const float error = w * inputs[i] + b - targets[i], n = static_cast<float>(inputs.size());
      loss += error * error / n, dw += 2 * error * inputs[i] / n, db += 2 * error / n;
    }
    return distributed::LossAndGrads{
        loss, {{"w", Tensor::from_values<float>({dw})}, {"b", Tensor::from_values<float>({db})}}};
  };

  const std::vector<Param> params{{"w", Tensor::zeros({1})}, {"b", Tensor::zeros({1})}};
  distributed::Trainer trainer({.num_workers = 4}, params, optim::sgd_momentum(0.1),
                               data::DataLoader(dataset, {.batch_size = 2, .shuffle = true, .seed = 1}), compute_grads);
  trainer.run(500);
  const auto result = trainer.result();
  std::printf("w = %.3f, b = %.3f after %ld steps\n", result.final_params[0].value.item(),
              result.final_params[1].value.item(), static_cast<long>(result.steps));
}
