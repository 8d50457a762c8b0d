#include "viva/comm/message_socket.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "viva/base/error.h"

namespace viva::comm {
namespace {

// Room for the one descriptor that a message may carry.
struct AttachmentSpace {
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> bytes{};
};

}  // namespace

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

bool MessageSocket::send_bytes(std::span<const std::byte> message, const Descriptor& attached) const {
  iovec bytes{const_cast<std::byte*>(message.data()), message.size()};
  msghdr header{};
  header.msg_iov = &bytes;
  header.msg_iovlen = 1;
  AttachmentSpace space;
  if (attached.open()) {
    header.msg_control = space.bytes.data();
    header.msg_controllen = space.bytes.size();
    cmsghdr* const control = CMSG_FIRSTHDR(&header);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof(int));
    const int descriptor = attached.get();
    std::memcpy(CMSG_DATA(control), &descriptor, sizeof descriptor);
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(descriptor(), &header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == std::ssize(message);
}

bool MessageSocket::receive_bytes(std::span<std::byte> message, Descriptor* attached) const {
  iovec bytes{message.data(), message.size()};
  msghdr header{};
  header.msg_iov = &bytes;
  header.msg_iovlen = 1;
  AttachmentSpace space;
  header.msg_control = space.bytes.data();
  header.msg_controllen = space.bytes.size();
  ssize_t got = 0;
  do {
    got = ::recvmsg(descriptor(), &header, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return false;
  for (cmsghdr* control = CMSG_FIRSTHDR(&header); control != nullptr; control = CMSG_NXTHDR(&header, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    int received = -1;
    std::memcpy(&received, CMSG_DATA(control), sizeof received);
    Descriptor owned(received);
    if (attached != nullptr) *attached = std::move(owned);
  }
  return got == std::ssize(message);
}

void MessageSocket::shut_down() const { ::shutdown(descriptor(), SHUT_RDWR); }

}  // namespace viva::comm
