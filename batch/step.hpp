// step.hpp - the one step of the site's launcher that starts a process on each node: its command as
// data.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "batch/allocation.hpp"

namespace holon::batch {

struct Step {
  // Commands run side by side, which together are the step: one for most launchers, one for each
  // node where the launcher takes one node at a time.
  std::vector<std::vector<std::string>> commands;
  // Variables to remove from the launcher's environment, which would change what it does.
  std::vector<std::string> unset;
  // The launcher hands its environment to the processes, and its standard input to each of them. A
  // key goes by one of the two, never by the command line; if neither is so, by a file that only
  // its owner can read, in a folder that all nodes share.
  bool passes_environment = false;
  bool passes_input = false;

  bool operator==(const Step&) const = default;
};

// Starts `program` (an absolute name and its arguments) once on each node of the allocation, this
// one included. Errors: unsupported (a system without a launcher: name hosts), not_found (the nodes
// are not known).
Result<Step> step_on_nodes(const Allocation& allocation, const std::vector<std::string>& program);

// Starts tasks from a host that is none of the nodes (a shell of salloc on a login node), where the
// processes find each other by PMI: standard input and, with `terminal`, this terminal are those of
// the first. Errors: unsupported (all systems but Slurm).
Result<Step> step_of_tasks(const Allocation& allocation, const std::vector<std::string>& program,
                           bool terminal);

// Starts on hosts by ssh, one connection each. Errors: invalid_argument (no host, one that ssh
// would take for an option, or one twice).
Result<Step> step_by_ssh(const std::vector<std::string>& hosts,
                         const std::vector<std::string>& program);

// Quotes a word for a shell at the other end: 'a b' -> "'a b'".
std::string quoted(const std::string& word);

}  // namespace holon::batch
