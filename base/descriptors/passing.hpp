// passing.hpp - a message over a Unix socket, together with open descriptors (SCM_RIGHTS).
//
// Whoever is at the other end may send what it likes: a receiver is left with no descriptor that it
// does not know of.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace holon {

inline constexpr std::size_t kMostPassed = 16;  // descriptors with one message

// Sends `bytes` as one message of a socket that keeps messages apart. `flags` are those of
// sendmsg(2), and MSG_NOSIGNAL; a call that a signal has interrupted is made again. Returns whether
// all of it was sent, else errno says why. REQUIRES: at most kMostPassed descriptors, and a byte.
bool send_with_descriptors(int socket, std::span<const std::byte> bytes,
                           std::span<const int> descriptors, int flags = 0);

struct Passed {
  // 0: the other end is closed, or it has sent an empty message; -1: nothing has come, see `error`.
  std::ptrdiff_t size = -1;
  int error = 0;  // errno
  bool has_all_bytes = true;
  // False: there were more than were asked for, or than this process may open.
  bool has_all_descriptors = true;
  std::vector<int> descriptors;  // the caller's to close; programs that are started do not get them
};

// Receives one message into `room`, with at most `most` descriptors (up to kMostPassed): those
// beyond are closed. `flags` are those of recvmsg(2).
Passed receive_with_descriptors(int socket, std::span<std::byte> room, std::size_t most,
                                int flags = 0);

void close_all(std::span<const int> descriptors);

}  // namespace holon
