// cgroup.hpp - directories of the cgroup v2 hierarchy (cgroups(7)), where this process may make
// some: what is started in one cannot leave it, whatever sessions, parents and environments it
// makes for itself.
//
// No controller is switched on, so that nothing is limited, and a cgroup that has processes may
// have children.
#pragma once
#include <string>

#include "base/result.hpp"

namespace holon::launch {

// The directory of the cgroup this process is in. Errors: unsupported (there is no such hierarchy
// here, or this process is outside of what is seen of it).
Result<std::string> own_cgroup();

// Makes the directory and starts a process in it. Errors: system, with what was not possible.
Status make_cgroup(const std::string& dir);

// Is a process in it, or in a cgroup below it? False for one that is not there.
bool is_populated(const std::string& dir);
// SIGKILL to all that is in it and below it.
void kill_cgroup(const std::string& dir);
// Removes it with all cgroups below it. Those that are not empty stay.
void remove_cgroup(const std::string& dir);
// The same without itself.
void remove_cgroups_below(const std::string& dir);

}  // namespace holon::launch
