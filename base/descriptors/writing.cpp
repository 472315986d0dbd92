#include "base/descriptors/writing.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace holon {

Status write_all(int fd, std::string_view bytes, const std::string& where) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
      continue;
    }
    const int error = n < 0 ? errno : ENOSPC;
    pollfd room{fd, POLLOUT, 0};
    if (error == EAGAIN) poll(&room, 1, -1);
    if (error != EAGAIN && error != EINTR) return fail(Errc::system, std::strerror(error), where);
  }
  return {};
}

}  // namespace holon
