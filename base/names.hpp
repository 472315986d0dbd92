// names.hpp - what it means that getpwnam(3) or one of its relatives has found nothing.
#pragma once
#include <cerrno>

namespace holon {

// Is there perhaps such a user or group, which could not be asked for? `error`: errno behind the
// call, which was 0 before it, or what a function with _r has returned. Other numbers than these
// mean that there is none: C libraries leave ENOENT, ESRCH, EBADF and EPERM, too.
inline bool could_not_ask(int error) {
  switch (error) {
    case EAGAIN:
    case EINTR:
    case EIO:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ETIMEDOUT:
      return true;
    default:
      return false;
  }
}

}  // namespace holon
