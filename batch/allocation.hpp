// allocation.hpp - what a batch system has granted, as this process's environment tells it.
//
// find_allocation() is a function of an Environment. It asks nobody: what only a command of the
// batch system knows is a question as data (time_left.hpp, questions.hpp) with a reader of its own.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "batch/environment.hpp"
#include "batch/hosts.hpp"
#include "batch/place.hpp"

namespace holon::batch {

// Batch systems. `holon`: a job of another instance is an allocation too.
enum class System { none, slurm, pbs, lsf, oar, grid_engine, flux, holon };

// The name "slurm", as in batch.system and in --json.
const char* name_of(System system);
// The name "Slurm", for people.
const char* title_of(System system);
std::optional<System> system_of(std::string_view name);

struct Allocation {
  System system = System::none;
  std::string job;      // as the batch system's commands take it; "" in a Flux instance's script
  std::string step;     // of Slurm; "" in a batch script
  bool torque = false;  // of PBS: its commands differ from OpenPBS's
  std::string job_name;
  std::string user;
  // Nodes in the batch system's order, each once. Empty: it does not say (Flux, see questions.hpp).
  std::vector<Node> nodes;
  // The batch system's name for this node; "": not known, or on none of the nodes.
  std::string node;
  std::optional<std::size_t> node_index;  // the same in `nodes`
  // CPUs granted on this node; 0: the batch system does not say.
  std::uint64_t cpus_here = 0;
  std::uint64_t memory_here = 0;  // bytes
  // The GPUs granted on this node, as the system's own drivers number them; nullopt: it does not
  // say.
  std::optional<std::vector<std::string>> gpus;
  std::optional<std::int64_t> ends_at;   // seconds since the Unix epoch
  std::optional<std::int64_t> walltime;  // seconds, from the job's start
  LaunchPlace place;                     // among the processes that were started together
  // Variables that could not be read, a line each: the variable and why.
  std::vector<std::string> doubts;
};

// The allocation of the innermost system whose variables are set, or of the one named. Unreadable
// variables do not make it fail: see `doubts`.
Allocation find_allocation(const Environment& environment,
                           std::optional<System> named = std::nullopt);

}  // namespace holon::batch
