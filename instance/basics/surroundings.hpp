// surroundings.hpp - what `holon start` finds of batch system and cgroups around it, before there
// are processes.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "batch/allocation.hpp"
#include "batch/cgroup_limits.hpp"
#include "config/config.hpp"

namespace holon::instance {

struct Surroundings {
  batch::Allocation allocation;
  batch::CgroupLimits limits;         // none where the configuration ignores them
  std::vector<std::string> of_place;  // variables that processes of the instance must not see
};
Surroundings look_around(const config::Config& config);

// Refuses to begin as one of several tasks, each of which would make an instance with the whole
// machine. nullopt: this task is alone.
std::optional<Error> one_of_several(const Surroundings& around);

// "Slurm job 5 has 4 nodes ..." where an instance of this host leaves nodes unused; else "".
std::string unused_nodes(const batch::Allocation& allocation);

// Bytes of this node's memory that may be offered; 0: all it has.
std::uint64_t most_memory(const Surroundings& around);

// Binds this process, and what it starts, to the cores that may be offered. Returns a line for
// people about what was cut, "" where nothing was. Errors: of hwloc and of binding.
Result<std::string> keep_granted_cores(const Surroundings& around);

// Shows this process, and what it starts, the GPUs that the batch system has granted here, unless
// CUDA_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES is set. Returns the variables that were set: they
// are of this node only.
std::vector<std::string> show_granted_gpus(const Surroundings& around);

}  // namespace holon::instance
