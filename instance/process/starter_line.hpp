// starter_line.hpp - the supervisor's connection to the starter.
#pragma once
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
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
  // What is to be ended of an earlier run: the jobs of the instance with that jobs_prefix(), whose
  // outputs are below `state_dir` ("": not here). `spares`: what is below a starter that still
  // starts tasks, as that of another agent of this instance.
  struct Left {
    std::string prefix, state_dir;
    bool spares = false;
  };
  // Calls `then` when no process of users is left of that. `tell` gets a message where one takes
  // long to end, or where some could not be looked at. At once where there is no starter. One call
  // at a time.
  void when_none_left(Left left, std::function<void(const std::string&)> tell,
                      std::function<void()> then);
  // Lets the starter end, and waits until it has, for `patience` ms at most: below it may be a task
  // that the system cannot end, as one that waits for a file server which is down. False: it has
  // not ended. At once where there is none. REQUIRES: no agent has its connection any more.
  [[nodiscard]] bool end(int patience = kEndPatience);

 private:
  static constexpr int kEndPatience = 10'000;
  // Looks for what is left until two looks in a row have found nothing.
  struct Sweep {
    Left left;
    std::function<void(const std::string&)> tell;
    std::function<void()> then;
    int looks = 0, clear = 0;
    transport::UniqueFd line = {};
    transport::Subscription next = {};
  };
  std::optional<std::uint32_t> count() const;
  void sweep();
  void swept();
  void sweep_again();

  transport::Reactor& reactor_;
  transport::UniqueFd fd_, of_agent_;
  transport::Subscription closed_, look_;
  std::unique_ptr<Sweep> sweep_;
};

}  // namespace holon::instance
