#include "base/descriptors/passing.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/check.hpp"

namespace holon {
namespace {

// Room for one header with the most descriptors.
struct Control {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostPassed * sizeof(int))> bytes{};
};

// The descriptors in the headers, whatever was asked for: the padding behind `most` descriptors has
// room for another one, which the kernel uses.
std::vector<int> descriptors_in(msghdr& message) {
  std::vector<int> found;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    const std::size_t before = found.size();
    found.resize(before + count);
    std::memcpy(found.data() + before, CMSG_DATA(header), count * sizeof(int));
  }
  return found;
}

}  // namespace

bool send_with_descriptors(int socket, std::span<const std::byte> bytes,
                           std::span<const int> descriptors, int flags) {
  HOLON_CHECK(descriptors.size() <= kMostPassed);
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  Control control;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent = 0;
  while ((sent = sendmsg(socket, &message, flags | MSG_NOSIGNAL)) < 0 && errno == EINTR) continue;
  return sent == static_cast<ssize_t>(bytes.size());
}

Passed receive_with_descriptors(int socket, std::span<std::byte> room, std::size_t most,
                                int flags) {
  HOLON_CHECK(most <= kMostPassed);
  iovec part{room.data(), room.size()};
  Control control;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  Passed passed;
  while ((passed.size = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
    continue;
  if (passed.size < 0) {
    passed.error = errno;
    return passed;
  }
  passed.descriptors = descriptors_in(message);
  passed.has_all_bytes = (message.msg_flags & MSG_TRUNC) == 0;
  passed.has_all_descriptors = (message.msg_flags & MSG_CTRUNC) == 0;
  if (passed.descriptors.size() <= most) return passed;
  close_all(std::span(passed.descriptors).subspan(most));
  passed.descriptors.resize(most);
  passed.has_all_descriptors = false;
  return passed;
}

void close_all(std::span<const int> descriptors) {
  for (const int fd : descriptors) close(fd);
}

}  // namespace holon
