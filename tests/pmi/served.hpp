// served.hpp - a server that answers descriptors until all of its tasks have hung up, on the
// calling thread.
#pragma once
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "pmi/server.hpp"

namespace holon::pmi {

// Serves `fds`, the ends of socket pairs, one for each local task, and closes them. Returns false
// if nothing came for 20 s.
inline bool serve(Server& server, std::vector<int> fds) {
  constexpr int kPatience = 20'000;
  std::vector<pollfd> open;
  for (const int fd : fds) open.push_back({fd, POLLIN, 0});
  std::size_t left = open.size();
  while (left > 0) {
    if (poll(open.data(), open.size(), kPatience) <= 0) return false;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (open[i].fd < 0 || open[i].revents == 0) continue;
      char bytes[512];
      const auto n = read(open[i].fd, bytes, sizeof bytes);
      if (n > 0 && server.receive(i, {bytes, static_cast<std::size_t>(n)})) continue;
      close(open[i].fd);
      open[i].fd = -1;
      --left;
    }
    for (std::size_t i = 0; i < open.size(); ++i) {
      const std::string out = server.take_output(i);
      if (open[i].fd >= 0 && !out.empty())
        if (send(open[i].fd, out.data(), out.size(), MSG_NOSIGNAL) < 0) return false;
    }
  }
  return true;
}

}  // namespace holon::pmi
