#include "cli/evaluation.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "viva/nn/classifier.h"
#include "viva/tensor/kernel_scope.h"

namespace viva::cli {

Evaluation evaluate(const nn::Model& model, std::span<const Param> params, const data::Dataset& dataset) {
  constexpr std::int64_t kBatchSize = 256;
  const KernelScope scope;
  Arena arena;
  double total_loss = 0;
  std::int64_t correct = 0, targets = 0;
  for (std::int64_t begin = 0; begin < dataset.size(); begin += kBatchSize) {
    const std::int64_t size = std::min(kBatchSize, dataset.size() - begin);
    std::vector<std::int64_t> indices(static_cast<std::size_t>(size));
    std::iota(indices.begin(), indices.end(), begin);
    const data::Batch batch = dataset.make_batch(size);
    dataset.gather(indices, batch);
    arena.reset();
    const nn::Judgement judgement = nn::judge(model, params, batch, arena);
    total_loss += judgement.loss * static_cast<double>(judgement.targets);
    correct += judgement.correct;
    targets += judgement.targets;
  }
  const auto count = static_cast<double>(targets);
  return {total_loss / count, static_cast<double>(correct) / count, dataset.size()};
}

}  // namespace viva::cli
