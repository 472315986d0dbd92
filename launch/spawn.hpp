// spawn.hpp - one process, started by posix_spawn(3): own process group, bound, default signals.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.hpp"
#include "launch/node.hpp"
#include "transport/unique_fd.hpp"

namespace holon::launch {

struct SpawnRequest {
  const std::vector<std::string>& argv;  // REQUIRES: not empty
  const std::vector<std::string>& env;   // "KEY=VALUE"; its PATH is where argv[0] is looked for
  const std::string& cwd;                // "": the caller's
  int out = -1;                          // -1: /dev/null, which is also its stdin
  int err = -1;
  const CpuMask* cpus = nullptr;  // nullptr: those of the caller
};

struct SpawnError {
  int exit_code = 126;  // as a shell says it: 127 no such command, 126 found but not startable
  std::string what;     // which step on what, with the system's words
};

// For one thread.
class Spawner {
 public:
  // Raises this process's own limit of open descriptors; tasks keep the one there was. Errors:
  // system.
  static Result<Spawner> create();

  // The child leads its own process group, has no other descriptors than 0, 1 and 2, no signal
  // blocked or ignored.
  tl::expected<pid_t, SpawnError> spawn(const SpawnRequest& request) const;

 private:
  Spawner() = default;
  transport::UniqueFd null_;
  std::uint64_t task_descriptors_ = 0;  // soft limit of open descriptors a task has; 0: ours
  CpuMask own_cpus_;
};

}  // namespace holon::launch
