#include "viva/distributed/failed_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "viva/base/error.h"
#include "viva/distributed/batch_stream.h"
#include "viva/io/safetensors.h"
#include "viva/tensor/kernel_scope.h"

namespace viva::distributed {
namespace {

constexpr const char *kStep = "failed_batch.step", *kWorker = "failed_batch.worker", *kBatch = "failed_batch.batch",
                     *kSamples = "failed_batch.samples";

Param numbers(const char* name, std::span<const std::int64_t> values) {
  Tensor tensor = Tensor::zeros({static_cast<std::int64_t>(values.size())}, Dtype::kInt64);
  std::ranges::copy(values, tensor.mutable_values<std::int64_t>().begin());
  return {name, std::move(tensor)};
}

// Takes a tensor of numbers out of those that a file has.
std::vector<std::int64_t> take_numbers(std::vector<Param>& tensors, const char* name, const std::string& path) {
  const auto found = std::ranges::find(tensors, name, &Param::name);
  if (found == tensors.end() || found->value.dtype() != Dtype::kInt64 || found->value.rank() != 1) {
    throw IoError(path, -1,
                  fmt::format("is no file of a failed batch: expected an int64 tensor '{}' of one axis", name));
  }
  const auto values = found->value.values<std::int64_t>();
  std::vector<std::int64_t> taken(values.begin(), values.end());
  tensors.erase(found);
  return taken;
}

std::int64_t take_number(std::vector<Param>& tensors, const char* name, const std::string& path) {
  const auto taken = take_numbers(tensors, name, path);
  if (taken.size() != 1 || taken[0] < 0) {
    throw IoError(path, -1, fmt::format("is no file of a failed batch: expected one number >= 0 in '{}'", name));
  }
  return taken[0];
}

}  // namespace

void write_failed_batch(const std::string& path, const FailedBatch& failed) {
  std::vector<Param> tensors = failed.params;
  tensors.push_back(numbers(kStep, std::span(&failed.step, 1)));
  tensors.push_back(numbers(kWorker, std::span(&failed.worker, 1)));
  tensors.push_back(numbers(kBatch, std::span(&failed.batch, 1)));
  tensors.push_back(numbers(kSamples, failed.samples));
  io::write_safetensors(path, tensors);
}

std::string keep_failed_batch(const std::string& directory, const FailedBatch& failed) {
  const std::string path =
      (std::filesystem::path(directory) / fmt::format("failed-batch-{}.safetensors", failed.batch)).string();
  try {
    write_failed_batch(path, failed);
  } catch (const Error& error) {
    return fmt::format("the batch could not be kept for a replay: {}", error.what());
  }
  return fmt::format("{} has what it takes to compute it once more", path);
}

FailedBatch read_failed_batch(const std::string& path) {
  FailedBatch failed;
  failed.params = io::read_safetensors(path);
  failed.step = take_number(failed.params, kStep, path);
  failed.worker = take_number(failed.params, kWorker, path);
  failed.batch = take_number(failed.params, kBatch, path);
  failed.samples = take_numbers(failed.params, kSamples, path);
  return failed;
}

LossAndGrads replay(const FailedBatch& failed, const data::DataLoader& loader, const ComputeGrads& compute_grads) {
  const KernelScope scope;
  if (loader.size() == 0) throw ConfigError({}, 0, "", "the data of the failed batch are not there: no batches");
  BatchStream stream(loader, 1);
  stream.prepare(failed.batch, failed.batch + 1);
  const auto samples = stream.indices(failed.batch);
  if (!std::ranges::equal(samples, failed.samples)) {
    throw ConfigError(
        {}, 0, "",
        fmt::format("batch {} has other samples than in the training that failed: expected the same data, "
                    "batch size, order and seed",
                    failed.batch));
  }
  const data::Batch batch = loader.dataset().make_batch(stream.length(failed.batch));
  loader.dataset().gather(samples, batch);

  const optim::Layout layout(failed.params);
  const Tensor buffer = layout.make_buffer();
  GradSink sink(layout, buffer);
  Arena arena;
  const StepContext context{loader.options().seed, failed.step, failed.worker, failed.batch, Mode::kTraining, arena};
  LossAndGrads result{compute_grads(context, batch, failed.params, sink), {}};
  for (std::size_t i = 0; i < sink.size(); ++i) {
    if (sink.given(i)) result.grads.push_back({layout.entries()[i].name, layout.view(buffer, i)});
  }
  return result;
}

}  // namespace viva::distributed
