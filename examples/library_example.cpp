// A classifier in a dozen lines, trained by four workers: is a point inside the unit circle?
#include <cstdio>

#include "viva/data/dataloader.h"
#include "viva/distributed/trainer.h"
#include "viva/nn/classifier.h"
#include "viva/nn/layers.h"

int main() {
  using namespace viva;
  // 4,096 points of a grid over the square from -2 to 2, and their classes.
  std::vector<float> points;
  std::vector<std::int32_t> classes;
  for (int i = 0; i < 4096; ++i) {
    const int column = i % 64, row = i / 64;
    const float x = static_cast<float>(column) / 16 - 2, y = static_cast<float>(row) / 16 - 2;
    points.insert(points.end(), {x, y});
    classes.push_back(x * x + y * y < 1 ? 1 : 0);
  }
  const auto dataset =
      data::Dataset::from_tensors(Tensor::from_values(points, {4096, 2}), Tensor::from_values(classes));

  const nn::Model model(nn::Linear(2, 32), nn::Relu(), nn::Linear(32, 32), nn::Tanh(), nn::Linear(32, 2));
  const auto loss = autograd::value_and_grad([&](const data::Batch& batch, const nn::Params& params) {
    return autograd::cross_entropy(model(params, batch.inputs), batch.targets);
  });
  distributed::Trainer trainer({.num_workers = 4}, model.initial_params(/*seed=*/1), optim::adam(0.01),
                               data::DataLoader(dataset, {.batch_size = 32, .shuffle = true}), loss);
  trainer.run(500);

  Arena arena;
  const auto result =
      nn::judge(model, trainer.params(), {Tensor::from_values(points, {4096, 2}), Tensor::from_values(classes)}, arena);
  std::printf("%ld of %ld points are classified correctly\n", static_cast<long>(result.correct),
              static_cast<long>(result.targets));
}
