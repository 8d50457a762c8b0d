#include "viva/comm/message_socket.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "viva/base/error.h"

namespace viva::comm {

std::pair<MessageSocket, MessageSocket> MessageSocket::make_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw CommError(fmt::format("cannot make a pair of sockets: {}", std::generic_category().message(errno)));
  }
  std::pair made(MessageSocket{ends[0]}, MessageSocket{ends[1]});
  const timeval limit{10, 0};
  for (const int end : ends) ::setsockopt(end, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  return made;
}

bool MessageSocket::send_bytes(std::span<const std::byte> message) const {
  ssize_t sent = 0;
  do {
    sent = ::send(descriptor(), message.data(), message.size(), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == std::ssize(message);
}

bool MessageSocket::receive_bytes(std::span<std::byte> message) const {
  ssize_t got = 0;
  do {
    got = ::recv(descriptor(), message.data(), message.size(), 0);
  } while (got < 0 && errno == EINTR);
  return got == std::ssize(message);
}

void MessageSocket::shut_down() const { ::shutdown(descriptor(), SHUT_RDWR); }

}  // namespace viva::comm
