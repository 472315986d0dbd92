// spawn.hpp - starts a process: in a session and process group of its own, bound, with default
// signals, ended by the kernel when this process ends, in a cgroup from its first instruction on.
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
  const std::vector<std::string>& env;   // "KEY=VALUE"; argv[0] is searched in its PATH
  const std::string& cwd;                // "": the caller's
  int in = -1;                           // -1: /dev/null
  int out = -1;                          // -1: /dev/null
  int err = -1;
  const CpuMask* cpus = nullptr;          // nullptr: those of the caller
  int cgroup = -1;                        // descriptor of a cgroup's directory; -1: the caller's
  int secrets = -1;                       // becomes kSecretsDescriptor; -1: nothing
  int wire_up = -1;                       // becomes kWireUpDescriptor; -1: nothing
  std::vector<ProcessLimit> limits = {};  // set last
  std::string user = {};                  // the process's user; "": this process's user
  int file_mask = -1;                     // umask(2); negative: the caller's, or a user's usual one
};

// The descriptors of a task's secrets, and of its wire-up.
inline constexpr int kSecretsDescriptor = 3;
inline constexpr int kWireUpDescriptor = 4;

// Does this errno say that permission is missing?
inline bool is_denial(int error) {
  return error == EACCES || error == EPERM;
}

struct SpawnError {
  int exit_code = 126;  // as in a shell: 127 no such command, 126 found but not startable
  std::string what;     // which step failed on what, with the system's words
  // The job asked for something that exists, but that its user may not have, by the system's
  // permissions or by the starter's rules. False if the system refuses something to the agent or to
  // the starter.
  bool denied = false;
  int no_cgroup = 0;  // errno: it could not be put into that cgroup; try without
};

// The most memory that a task had, in KiB, as the kernel counts it. The kernel adds the peak of the
// memory that the process was started from, which is ours (`ours_kb`): a task with less than that
// had no more than the pages it asked for.
std::int64_t memory_used_kb(const rusage& usage, std::int64_t ours_kb);
// The peak of this process up to now, in KiB.
std::int64_t own_peak_kb();

// For one thread; what it starts lives no longer than that thread.
class Spawner {
 public:
  // Raises this process's own limit of open descriptors; tasks keep the former limit. Errors:
  // system.
  static Result<Spawner> create();

  // The child leads a session and a process group, has no other descriptors than 0, 1 and 2 (and
  // those of the request), and no signal blocked or ignored (but for one that this process has
  // begun to ignore within the last 50 ms). When this thread ends the child gets SIGKILL.
  tl::expected<pid_t, SpawnError> spawn(const SpawnRequest& request);

  // How far a child got; it writes this to memory shared with us.
  struct SpawnProgress;

 private:
  Spawner() = default;
  struct Unmap {
    void operator()(SpawnProgress* memory) const;
  };
  // Where a command was last found.
  struct Found {
    std::string name, path, cwd, program;
    std::int64_t when = 0;  // monotonic ms
  };
  // `now`: monotonic ms.
  tl::expected<std::string, SpawnError> where_is(const SpawnRequest& request, std::int64_t now);
  void look_at_signals(std::int64_t now);

  transport::UniqueFd null_;
  Found found_;
  sigset_t ignored_{};                             // signals that this process ignores, or did
  std::optional<std::int64_t> looked_at_signals_;  // monotonic ms
  std::uint64_t task_descriptors_ = 0;  // soft limit of a task's open descriptors; 0: ours
  std::unique_ptr<SpawnProgress, Unmap> progress_;
};

}  // namespace holon::launch
