// spawn.hpp - one process: a session and process group of its own, bound, with default signals,
// ended by the kernel when this process ends, and in a cgroup from its first instruction on.
#pragma once
#include <sys/resource.h>
#include <sys/types.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "launch/node.hpp"
#include "launch/tasks/rlimits.hpp"
#include "transport/unique_fd.hpp"

namespace holon::launch {

struct SpawnRequest {
  const std::vector<std::string>& argv;  // REQUIRES: not empty
  const std::vector<std::string>& env;   // "KEY=VALUE"; its PATH is where argv[0] is looked for
  const std::string& cwd;                // "": the caller's
  int in = -1;                           // -1: /dev/null
  int out = -1;                          // -1: /dev/null
  int err = -1;
  const CpuMask* cpus = nullptr;          // nullptr: those of the caller
  int cgroup = -1;                        // descriptor of a cgroup's directory; -1: the caller's
  int secrets = -1;                       // what becomes kSecretsDescriptor; -1: nothing
  int wire_up = -1;                       // what becomes kWireUpDescriptor; -1: nothing
  std::vector<ProcessLimit> limits = {};  // set last
  std::string user = {};                  // whose it is; "": this process's user
  int file_mask = -1;                     // umask(2); negative: the caller's, or a user's usual one
};

// Where a task that is given secrets finds them, and where one that is to find others does.
inline constexpr int kSecretsDescriptor = 3;
inline constexpr int kWireUpDescriptor = 4;

// Does this errno say that somebody may not have what is there?
inline bool is_denial(int error) {
  return error == EACCES || error == EPERM;
}

struct SpawnError {
  int exit_code = 126;  // as a shell says it: 127 no such command, 126 found but not startable
  std::string what;     // which step on what, with the system's words
  // What the job asked for is there, and its user may not have it, by the system's permissions or
  // by the starter's rules. False where the system refuses something to the agent or to the
  // starter.
  bool denied = false;
  int no_cgroup = 0;  // errno: it could not be made a process in that cgroup; try without
};

// The most memory that a task had, in KiB, as the kernel counts it. To a process's peak it adds
// that of the memory it was started from, which is ours (`ours_kb`): where a task had less than
// that, it had no more than it asked pages for.
std::int64_t memory_used_kb(const rusage& usage, std::int64_t ours_kb);
// Of this process up to now, in KiB.
std::int64_t own_peak_kb();

// For one thread, and what it starts lives no longer than that thread.
class Spawner {
 public:
  // Raises this process's own limit of open descriptors; tasks keep the one there was. Errors:
  // system.
  static Result<Spawner> create();

  // The child leads a session and a process group, has no other descriptors than 0, 1 and 2 (and
  // what the request hands it), no signal blocked or ignored (but for one that this process has
  // begun to ignore within the last 50 ms). When this thread ends it gets SIGKILL.
  tl::expected<pid_t, SpawnError> spawn(const SpawnRequest& request);

  // How far a child got, told in memory that it shares with us.
  struct SpawnProgress;

 private:
  Spawner() = default;
  struct Unmap {
    void operator()(SpawnProgress* memory) const;
  };
  // Where a command was found last.
  struct Found {
    std::string name, path, cwd, program;
    std::int64_t when = 0;  // monotonic ms
  };
  // `now`: monotonic ms.
  tl::expected<std::string, SpawnError> where_is(const SpawnRequest& request, std::int64_t now);
  void look_at_signals(std::int64_t now);

  transport::UniqueFd null_;
  Found found_;
  sigset_t ignored_{};                             // signals that this process ignores, or has
  std::optional<std::int64_t> looked_at_signals_;  // monotonic ms
  std::uint64_t task_descriptors_ = 0;  // soft limit of open descriptors a task has; 0: ours
  std::unique_ptr<SpawnProgress, Unmap> progress_;
};

}  // namespace holon::launch
