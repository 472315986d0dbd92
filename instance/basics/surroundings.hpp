// surroundings.hpp - what `holon start` makes of the batch system and the cgroups around it, before
// there are processes.
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
  batch::CgroupLimits limits;         // none where they are not heeded
  std::vector<std::string> of_place;  // variables that what runs in the instance must not see
};
Surroundings look_around(const config::Config& config);

// Of one task of several: whose instance would be one of as many, each with the whole machine.
// nullopt: it is alone.
std::optional<Error> one_of_several(const Surroundings& around);

// "Slurm job 5 has 4 nodes ..." where an instance of this host leaves nodes without use; else "".
std::string unused_nodes(const batch::Allocation& allocation);

// Bytes of this node that may be offered; 0: all it has.
std::uint64_t most_memory(const Surroundings& around);

// Binds this process, and what it starts, to the cores that may be offered. A line for people about
// what was cut, "" where nothing was. Errors: of hwloc and of binding.
Result<std::string> keep_granted_cores(const Surroundings& around);

// Shows this process, and what it starts, the GPUs that the batch system has granted here, where
// neither CUDA_VISIBLE_DEVICES nor ROCR_VISIBLE_DEVICES is set yet. Returns the
// variables that were set: they are of this node only.
std::vector<std::string> show_granted_gpus(const Surroundings& around);

}  // namespace holon::instance
