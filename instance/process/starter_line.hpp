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

// The supervisor's signal to its broker when the starter has ended.
inline constexpr int kStarterEnded = SIGUSR2;
// Only root can make another starter, and no process of the instance is root: whoever has started
// the instance starts it again (a unit of systemd by Restart=on-failure).
inline constexpr const char* kNoStarter =
    "the starter, which root has made to start tasks as their users, has ended or was killed; the "
    "instance ends, and a later start on its state directory goes on with its queue";

class StarterLine {
 public:
  // `fd` and `of_agent`, the agent's own connection, are -1 if this instance has no starter. The
  // reactor must outlive this object.
  StarterLine(transport::Reactor& reactor, int fd, int of_agent)
      : reactor_(reactor), fd_(fd), of_agent_(of_agent) {}

  bool is_there() const { return static_cast<bool>(fd_); }
  // Adds the agent's connection to its command; returns the descriptors it inherits, with `others`.
  std::vector<int> hand_over(std::vector<std::string>& command, std::vector<int> others) const;
  // Calls `ended` when the starter has ended. Errors: system.
  Status watch(std::function<void()> ended);
  // Calls `then` when the starter keeps no task: those of an agent end soon after it. At once if
  // there is no starter. One call at a time.
  void when_idle(std::function<void()> then);
  // What is to be ended of an earlier run: the jobs of the instance with that jobs_prefix(), whose
  // outputs are below `state_dir` ("": not here). `spares`: processes below a starter that still
  // starts tasks, such as that of another agent of this instance, are spared.
  struct Left {
    std::string prefix, state_dir;
    bool spares = false;
  };
  // Calls `then` when no users' process is left of that. `tell` gets a message if one takes long to
  // end, or if some could not be looked at. At once if there is no starter. One call at a time.
  void when_none_left(Left left, std::function<void(const std::string&)> tell,
                      std::function<void()> then);
  // Lets the starter end, and waits for that, at most `patience` ms: it may have a task that the
  // system cannot end, such as one that waits for a file server which is down. False: it has not
  // ended. At once if there is none. REQUIRES: no agent has its connection any more.
  [[nodiscard]] bool end(int patience = kEndPatience);

 private:
  static constexpr int kEndPatience = 10'000;
  // A search for what is left, repeated until two looks in a row have found nothing.
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
