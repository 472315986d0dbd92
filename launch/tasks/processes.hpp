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

class Processes {
 public:
  virtual ~Processes() = default;
  // Are tasks those of users, each named in the request? Else all are this process's user.
  virtual bool serves_users() const { return false; }
  // As Spawner::spawn().
  virtual tl::expected<pid_t, SpawnError> spawn(const SpawnRequest& request) = 0;
  // As open(2), with mode 0666, as `user`; "": as this process. `mask`: of permissions that a new
  // file does not get; negative: the usual one. Returns the descriptor or -errno.
  virtual int open_file(const std::string& user, const std::string& path, int flags, int mask = -1);
  // As ProcessId::start; 0: not known. REQUIRES: it was not reaped.
  virtual std::uint64_t start_of(pid_t process) const = 0;
  // As Reactor::on_child().
  virtual Result<transport::Subscription> on_end(
      pid_t process, std::function<void(const transport::ChildExit&)> ended,
      std::function<void()> before_reap) = 0;
  // To the process group that a spawned process leads.
  virtual void signal_group(pid_t leader, int signal) = 0;
  // Ends this task of a user and what it has left behind. True: nothing is left. Of others that is
  // known by other means (tracking/).
  virtual bool clear(const msg::ProcessId&) { return true; }
  // As kill_sessions().
  virtual std::size_t kill_sessions(const std::vector<msg::ProcessId>& leaders,
                                    const std::string& prefix) = 0;
  // As Leftovers::end(): among all processes there are.
  virtual bool end_leftovers(Leftovers& rest);
};

// Those of this machine. For one thread; what it spawns lives no longer than that thread. Errors:
// system.
Result<std::unique_ptr<Processes>> own_processes(transport::Reactor& reactor);

}  // namespace holon::launch
