// environment.hpp - the variables a task finds (docs/environment.md).
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "launch/messages.hpp"

namespace holon::launch {

using Environment = std::map<std::string, std::string>;

// What of the node goes into every task's environment.
struct NodeFrame {
  std::string cpuset;  // numbering frame for the agents of child instances
  std::vector<std::string>
      gpus;  // device of GPU number i as its library names it; beyond the end: i itself
  bool has_gpus = false;  // jobs without a GPU are then shown none
  bool amd = false;
  std::string lineage = "";  // of the instance's own processes (lineage.hpp)
  // Where the files are that were added to the job which the instance is; "": none were.
  std::string instance_files = "";
};

// The program's own variables, on top of `inherited` if it asks for that.
Environment base_environment(const msg::Program& program, const Environment& inherited);

// What is in Start::secrets, as text for the descriptor that its tasks inherit; HOLON_SECRETS_FD
// says its number. take_secrets() reads it in the task's process, once: then both are gone.
// Errors: not_found (the agent gave this process none).
std::string secrets_text(const Environment& secrets);
Result<Environment> take_secrets();

// The calling process's environment; of malformed entries (without '=') nothing.
Environment current_environment();

// "KEY=VALUE", sorted by key: base, then the job's variables, then those made here, `wire_up` among
// them. What a launcher around has left for its own MPI task in `base` is taken out. REQUIRES:
// index < start.tasks.size()
std::vector<std::string> task_environment(const Environment& base, const msg::Start& start,
                                          std::size_t index, const NodeFrame& frame,
                                          const Environment& wire_up = {});

}  // namespace holon::launch
