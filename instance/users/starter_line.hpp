// starter_line.hpp - the supervisor's connection to the starter.
#pragma once
#include <csignal>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "transport/reactor.hpp"
#include "transport/unique_fd.hpp"

namespace holon::instance {

// What the supervisor signals its broker with where the starter has ended.
inline constexpr int kStarterEnded = SIGUSR2;
// Root alone can make another one, and no process of the instance is root: whoever has started the
// instance starts it again (a unit of systemd by Restart=on-failure).
inline constexpr const char* kNoStarter =
    "the starter, which root has made to start tasks as their users, has ended or was killed; the "
    "instance ends, and a later start on its state directory goes on with its queue";

class StarterLine {
 public:
  // `fd` and `of_agent`, the agent's own connection, are -1 where this instance has no starter. The
  // reactor must outlive it.
  StarterLine(transport::Reactor& reactor, int fd, int of_agent)
      : reactor_(reactor), fd_(fd), of_agent_(of_agent) {}

  bool is_there() const { return static_cast<bool>(fd_); }
  // Tells an agent of its connection; returns the descriptors it inherits, `others` among them.
  std::vector<int> hand_over(std::vector<std::string>& command, std::vector<int> others) const;
  // Calls `ended` when the starter has ended. Errors: system.
  Status watch(std::function<void()> ended);
  // Calls `then` when no task of somebody is kept: those of an agent end soon after it. At once
  // where there is no starter. One call at a time.
  void when_idle(std::function<void()> then);
  // Lets the starter end, and waits until it has, for `patience` ms at most: below it may be a task
  // that the system cannot end, as one that waits for a file server which is down. False: it has
  // not ended. At once where there is none. REQUIRES: no agent has its connection any more.
  [[nodiscard]] bool end(int patience = kEndPatience);

 private:
  static constexpr int kEndPatience = 10'000;
  std::optional<std::uint32_t> count() const;

  transport::Reactor& reactor_;
  transport::UniqueFd fd_, of_agent_;
  transport::Subscription closed_, look_;
};

}  // namespace holon::instance
