// known_machine.hpp - what an agent has seen of its machine, for the agents of child instances
// there.
//
// hwloc reads thousands of small files to look at a machine: 10 ms on a small one, 100 on a large
// one, and most of what a child needs to begin. The text is in memory of the agent and is found by
// a path; a child whose parent's agent is gone, or is another user's, looks for itself.
#pragma once
#include <string>

#include "base/result.hpp"
#include "transport/unique_fd.hpp"

namespace holon::launch {

// In the environment of a job that becomes an instance: where what is known of the machine is.
inline constexpr const char* kKnownMachine = "HOLON_MACHINE";

struct KnownMachine {
  transport::UniqueFd memory;  // the path leads to it as long as it is open
  std::string path;            // "": nothing is shown
};

// Shows hwloc's XML of the whole machine. Errors: system.
Result<KnownMachine> show_machine(const std::string& xml);

// What is shown at `path`; "": it is nothing like it, or not for this user. Never waits.
std::string shown_machine(const std::string& path);

}  // namespace holon::launch
