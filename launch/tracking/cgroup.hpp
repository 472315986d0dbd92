// cgroup.hpp - directories of the cgroup v2 hierarchy (cgroups(7)), if this process may make some.
// A process that is started in a cgroup cannot leave it, whatever session, parent and environment
// it makes for itself.
//
// The only controller that is switched on is that of memory, if that is allowed, so that a cgroup
// with processes may have children.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace holon::launch {

// The directory of the cgroup of this process. Errors: unsupported (there is no such hierarchy
// here, or this process is outside of the visible part).
Result<std::string> own_cgroup();

// Makes the directory and starts a process in it. Errors: system, naming what was not possible.
Status make_cgroup(const std::string& dir);

// Is a process in the cgroup, or in one below it? False if there is no such cgroup.
bool is_populated(const std::string& dir);
// The processes in the cgroup and below it.
std::vector<pid_t> processes_below(const std::string& dir);
// Allows memory bounds for cgroups made below `dir` from now on, if this process may do that. True:
// they are allowed.
bool offer_memory_bounds(const std::string& dir);
// Bounds the memory of all in the cgroup; if it needs more the kernel ends all of it. False: the
// kernel takes no such bound here.
bool bound_memory(const std::string& dir, std::int64_t bytes);
// Has the kernel ended something in the cgroup for that?
bool ran_out_of_memory(const std::string& dir);
// The most memory that was used; nullopt: the kernel does not say.
std::optional<std::int64_t> memory_peak(const std::string& dir);
// Sends SIGKILL to every process in the cgroup and below it.
void kill_cgroup(const std::string& dir);
// Removes the cgroup with all cgroups below it. Cgroups that are not empty stay.
void remove_cgroup(const std::string& dir);
// Removes the cgroups below `dir`, and not `dir`.
void remove_cgroups_below(const std::string& dir);

}  // namespace holon::launch
