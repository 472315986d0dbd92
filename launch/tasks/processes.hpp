// processes.hpp - what an agent does with processes of the operating system: the seam under which
// the deterministic world (world/) puts tasks of its own.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "launch/messages.hpp"
#include "launch/tasks/spawn.hpp"
#include "transport/reactor.hpp"

namespace holon::launch {

class Leftovers;
class Node;
struct TakenUnits;

class Processes {
 public:
  virtual ~Processes() = default;
  // Do tasks run as users, each named in its request? Else all run as this process's user.
  virtual bool serves_users() const { return false; }
  // Like Spawner::spawn().
  virtual tl::expected<pid_t, SpawnError> spawn(const SpawnRequest& request) = 0;
  // Like open(2) with mode 0666, as `user`; "": as this process. `mask`: permissions that a new
  // file does not get; negative: the usual ones. Returns the descriptor or -errno.
  virtual int open_file(const std::string& user, const std::string& path, int flags, int mask = -1);
  // As ProcessId::start; 0: not known. REQUIRES: the process was not reaped.
  virtual std::uint64_t start_of(pid_t process) const = 0;
  // Like Reactor::on_child().
  virtual Result<transport::Subscription> on_end(
      pid_t process, std::function<void(const transport::ChildExit&)> ended,
      std::function<void()> before_reap) = 0;
  // Signals the process group that a spawned process leads.
  virtual void signal_group(pid_t leader, int signal) = 0;
  // Ends this task of a user and what it has left behind. True: nothing is left. For other tasks
  // that is known by other means (tracking/).
  virtual bool clear(const msg::ProcessId&) { return true; }
  // Like kill_sessions().
  virtual std::size_t kill_sessions(const std::vector<msg::ProcessId>& leaders,
                                    const std::string& prefix) = 0;
  // Like end_on_taken_units(): among all processes that exist.
  virtual Result<std::size_t> end_on_taken_units(const Node& node, const std::string& prefix,
                                                 const TakenUnits& taken);
  // Like Leftovers::end(): among all processes that exist.
  virtual bool end_leftovers(Leftovers& rest);
};

// The processes of this machine. For one thread; what it spawns lives no longer than that thread.
// Errors: system.
Result<std::unique_ptr<Processes>> own_processes(transport::Reactor& reactor);

}  // namespace holon::launch
