#include "viva/distributed/worker_message.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "viva/base/error.h"
#include "viva/base/memory_file.h"
#include "viva/io/safetensors.h"

namespace viva::distributed {
namespace {

struct MessageHead {
  enum Kind : std::int64_t { kRunBatch, kStop, kGrads, kLastWords };
  Kind kind = kStop;
  std::int64_t batch_id = 0, samples = 0;
  double loss = 0;
  std::array<char, 1024> text{};  // ends with a zero
};

constexpr const char* kPlace = "a message between worker processes";

Descriptor packed(const std::vector<Param>& tensors) {
  const io::SafetensorsBytes content = io::make_safetensors(tensors, kPlace);
  std::vector<std::span<const std::byte>> pieces{std::as_bytes(std::span(content.start))};
  pieces.insert(pieces.end(), content.pieces.begin(), content.pieces.end());
  return make_memory_file(pieces);
}

std::vector<Param> unpacked(const Descriptor& file) {
  return io::parse_safetensors(map_memory_file(file).bytes, kPlace);
}

// In front of a parameter's name; so none is called as one of the batch's tensors.
constexpr std::string_view kTrainedPrefix = "trained/", kBufferPrefix = "buffer/";

std::vector<Param> tensors_of(const RunBatch& command) {
  std::vector<Param> tensors{{"inputs", command.batch.inputs}, {"targets", command.batch.targets}};
  for (const Param& param : command.params) {
    const std::string_view prefix = param.role == ParamRole::kBuffer ? kBufferPrefix : kTrainedPrefix;
    tensors.push_back({std::string(prefix) + param.name, param.value});
  }
  return tensors;
}

RunBatch run_batch_of(std::int64_t batch_id, std::vector<Param> tensors) {
  RunBatch command{batch_id, {}, {}};
  for (Param& tensor : tensors) {
    if (tensor.name == "inputs") {
      command.batch.inputs = std::move(tensor.value);
    } else if (tensor.name == "targets") {
      command.batch.targets = std::move(tensor.value);
    } else {
      const bool buffer = tensor.name.starts_with(kBufferPrefix);
      const std::size_t prefix = buffer ? kBufferPrefix.size() : kTrainedPrefix.size();
      command.params.push_back(
          {tensor.name.substr(prefix), std::move(tensor.value), buffer ? ParamRole::kBuffer : ParamRole::kTrained});
    }
  }
  return command;
}

[[noreturn]] void fail_on_kind(MessageHead::Kind kind) {
  throw CommError("worker processes: a message of kind " + std::to_string(kind) + " has come the wrong way");
}

}  // namespace

bool send_command(const comm::MessageSocket& socket, const WorkerCommand& command) {
  const auto* const run = std::get_if<RunBatch>(&command);
  if (run == nullptr) return socket.send(MessageHead{MessageHead::kStop});
  return socket.send(MessageHead{MessageHead::kRunBatch, run->batch_id}, packed(tensors_of(*run)));
}

bool send_answer(const comm::MessageSocket& socket, const WorkerAnswer& answer) {
  if (const auto* const words = std::get_if<LastWords>(&answer)) {
    MessageHead head{MessageHead::kLastWords};
    std::copy_n(words->text.begin(), std::min(words->text.size(), head.text.size() - 1), head.text.begin());
    return socket.send(head);
  }
  const auto& grads = std::get<BatchGrads>(answer);
  std::vector<Param> tensors;
  for (const GradPair& pair : grads.grads.grads) tensors.push_back({pair.name, pair.grad});
  return socket.send(MessageHead{MessageHead::kGrads, grads.batch_id, grads.grads.samples, grads.loss},
                     packed(tensors));
}

std::optional<WorkerCommand> receive_command(const comm::MessageSocket& socket) {
  Descriptor attached;
  const auto head = socket.receive<MessageHead>(&attached);
  if (!head) return std::nullopt;
  if (head->kind == MessageHead::kStop) return Stop{};
  if (head->kind != MessageHead::kRunBatch) fail_on_kind(head->kind);
  return run_batch_of(head->batch_id, unpacked(attached));
}

std::optional<WorkerAnswer> receive_answer(const comm::MessageSocket& socket) {
  Descriptor attached;
  const auto head = socket.receive<MessageHead>(&attached);
  if (!head) return std::nullopt;
  if (head->kind == MessageHead::kLastWords) return LastWords{head->text.data()};
  if (head->kind != MessageHead::kGrads) fail_on_kind(head->kind);
  BatchGrads answer{head->batch_id, {{}, head->samples}, head->loss};
  for (Param& tensor : unpacked(attached)) {
    answer.grads.grads.push_back({std::move(tensor.name), std::move(tensor.value)});
  }
  return answer;
}

}  // namespace viva::distributed
