// cgroup_limits.hpp - CPU time and memory that the cgroups of a process leave it: cpu.max and
// memory.max of v2, the cfs quota and memory limit of v1.
//
// hwloc knows the cpuset of a cgroup, and neither of these: a container of half a core looks like
// the whole machine to it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "batch/environment.hpp"

namespace holon::batch {

struct CgroupLimits {
  // The least limits of the process's own cgroup and of visible ones above it; nullopt: none.
  std::optional<double> cpus;           // 1.5: so much CPU time a second
  std::optional<std::uint64_t> memory;  // bytes
  std::string cpus_from, memory_from;   // the file that says so

  // Whole cores: rounded down, at least one.
  std::optional<std::uint64_t> cores() const;
};

// Reads /proc/self/cgroup, /proc/self/mountinfo and the files below the mounts. Absent files limit
// nothing.
CgroupLimits find_cgroup_limits(const Environment& environment);

}  // namespace holon::batch
