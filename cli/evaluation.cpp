#include "cli/evaluation.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "viva/autograd/softmax.h"
#include "viva/nn/classifier.h"
#include "viva/tensor/kernel_scope.h"

namespace viva::cli {

namespace {

constexpr std::int64_t kBatchSize = 256;

// Calls f(batch, arena) for the dataset in batches of fixed size, in its order.
template <typename F>
void for_batches(const data::Dataset& dataset, F f) {
  Arena arena;
  for (std::int64_t begin = 0; begin < dataset.size(); begin += kBatchSize) {
    const std::int64_t size = std::min(kBatchSize, dataset.size() - begin);
    std::vector<std::int64_t> indices(static_cast<std::size_t>(size));
    std::iota(indices.begin(), indices.end(), begin);
    const data::Batch batch = dataset.make_batch(size);
    dataset.gather(indices, batch);
    arena.reset();
    f(batch, arena);
  }
}

}  // namespace

Evaluation evaluate(const nn::Model& model, std::span<const Param> params, const data::Dataset& dataset) {
  double total_loss = 0;
  std::int64_t correct = 0, targets = 0;
  for_batches(dataset, [&](const data::Batch& batch, Arena& arena) {
    const nn::Judgement judgement = nn::judge(model, params, batch, arena);
    total_loss += judgement.total_loss;
    correct += judgement.correct;
    targets += judgement.targets;
  });
  const auto count = static_cast<double>(targets);
  return {total_loss / count, static_cast<double>(correct) / count, dataset.size()};
}

Tensor probabilities(const nn::Model& model, std::span<const Param> params, const data::Dataset& dataset) {
  const KernelScope scope;
  std::vector<float> all;
  std::int64_t classes = 0;
  for_batches(dataset, [&](const data::Batch& batch, Arena& arena) {
    const Tensor logits = nn::outputs(model, params, batch.inputs, arena);
    autograd::Tape tape(arena, nullptr);
    const Tensor rows = autograd::softmax(tape.constant(logits)).value();
    const auto values = rows.values<float>();
    all.insert(all.end(), values.begin(), values.end());
    classes = rows.shape().back();
  });
  return Tensor::from_values(all, {dataset.size(), classes});
}

}  // namespace viva::cli
