// How the messages of worker.h travel between processes: a small struct over a MessageSocket and, attached to it, the
// tensors as safetensors in a MemoryFile.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "viva/comm/message_socket.h"
#include "viva/distributed/worker.h"

namespace viva::distributed {

// A worker's last words: the message of the exception that ended it.
struct LastWords {
  std::string text;
};
using WorkerAnswer = std::variant<BatchGrads, LastWords>;

// False where the other end is gone.
bool send_command(const comm::MessageSocket& socket, const WorkerCommand& command);
bool send_answer(const comm::MessageSocket& socket, const WorkerAnswer& answer);

// None where the other end is gone. CommError for a message of the other direction; IoError for tensors that are none.
std::optional<WorkerCommand> receive_command(const comm::MessageSocket& socket);
std::optional<WorkerAnswer> receive_answer(const comm::MessageSocket& socket);

}  // namespace viva::distributed
