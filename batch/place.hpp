// place.hpp - one of several: which of the processes that a launcher started together this one is.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "batch/environment.hpp"

namespace holon::batch {

struct LaunchPlace {
  std::string launcher;  // "srun", "mpiexec", ...; "": started by itself
  std::string variable;  // the variable that told it: "SLURM_STEP_NUM_TASKS=4"
  std::optional<std::uint64_t> rank;
  std::optional<std::uint64_t> size;  // nullopt with a launcher: it does not say

  // Are there other processes, or may there be?
  bool is_one_of_several() const { return !launcher.empty() && (!size || *size > 1); }
};

// The place by the innermost launcher: an MPI's variables come before those of the batch system.
// Inside of a holon instance those of Slurm, Flux and PBS are what the instance was started with.
LaunchPlace find_place(const Environment& environment);

}  // namespace holon::batch
