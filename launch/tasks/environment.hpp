// environment.hpp - the environment variables of a task (docs/environment.md).
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "launch/messages.hpp"

namespace holon::launch {

using Environment = std::map<std::string, std::string>;

// Set in a job that is a step of a translated script (cli/options/srun.hpp): the number of the job
// around, whose SLURM_JOB_* its tasks keep.
inline constexpr const char* kStepOf = "HOLON_STEP_OF";

// What of the node goes into every task's environment.
struct NodeFrame {
  std::string cpuset;  // numbering frame for the agents of child instances
  // Device of GPU number i as its library names it, with its maker where there are several
  // ("amd:0"); beyond the end: i itself.
  std::vector<std::string> gpus;
  bool has_gpus = false;     // jobs without a GPU are then shown none
  bool amd = false;          // the maker of devices that are named without one; else NVIDIA
  std::string lineage = "";  // of the instance's own processes (lineage.hpp)
  // The folder of files that were added to the job which is this instance; "": none were.
  std::string instance_files = "";
  std::string machine = "";  // where what is known of this machine is (known_machine.hpp)
};

// The program's own variables, on top of `inherited` if the program asks for that.
Environment base_environment(const msg::Program& program, const Environment& inherited);

// Start::secrets as text for the descriptor that its tasks inherit, whose number is in
// HOLON_SECRETS_FD. take_secrets() reads it in the task's process, once: then both are gone.
// Errors: not_found (the agent gave this process none).
std::string secrets_text(const Environment& secrets);
Result<Environment> take_secrets();

// The calling process's environment, without malformed entries (without '=').
Environment current_environment();

// "KEY=VALUE", sorted by key: base, then the job's variables, then those made here, with `wire_up`.
// Variables in `base` that an outer launcher set for its own MPI task are removed. REQUIRES: index
// < start.tasks.size()
std::vector<std::string> task_environment(const Environment& base, const msg::Start& start,
                                          std::size_t index, const NodeFrame& frame,
                                          const Environment& wire_up = {});

}  // namespace holon::launch
