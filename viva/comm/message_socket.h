// MessageSocket: small messages of a fixed size between a process and one that it has forked.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "viva/base/descriptor.h"

namespace viva::comm {

// One end of a socket pair that keeps messages apart. Messages are plain structs, for both ends are one program. Any
// thread may send; one receives.
class MessageSocket {
 public:
  MessageSocket() = default;
  // Both ends, closed on exec. Throws CommError.
  static std::pair<MessageSocket, MessageSocket> make_pair();

  // False where the other end is gone, or has not read for ten seconds. The other end gets a copy of the `attached`
  // descriptor, where there is one.
  template <typename Message>
  requires std::is_trivially_copyable_v<Message>
  bool send(const Message& message, const Descriptor& attached = {}) const {
    return send_bytes(std::as_bytes(std::span(&message, 1)), attached);
  }

  // Waits for a message; none where the other end is gone or shut_down() was called. What was attached to it goes into
  // `attached`, or is closed.
  template <typename Message>
  requires std::is_trivially_copyable_v<Message> std::optional<Message> receive(Descriptor* attached = nullptr)
  const {
    Message message;
    if (!receive_bytes(std::as_writable_bytes(std::span(&message, 1)), attached)) return std::nullopt;
    return message;
  }

  // Both ends see the end of messages, whoever else holds copies of them.
  void shut_down() const;
  void close() { descriptor_.close(); }
  int descriptor() const { return descriptor_.get(); }

 private:
  explicit MessageSocket(int descriptor) : descriptor_(descriptor) {}
  bool send_bytes(std::span<const std::byte> message, const Descriptor& attached) const;
  bool receive_bytes(std::span<std::byte> message, Descriptor* attached) const;

  Descriptor descriptor_;
};

}  // namespace viva::comm
