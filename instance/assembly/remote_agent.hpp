// remote_agent.hpp - `holon agent --join` and `holon join`: the process that a launcher, or a
// person, starts on a node that is not the broker's.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/time.hpp"
#include "launch/remote/invitation.hpp"

namespace holon::instance {

struct RemoteAgentOptions {
  std::int64_t rank = -1;  // as given to its launcher; negative: none
  std::string invitation;  // a file; "": from the variable or standard input
  // For a child instance: the frame in which its parent numbers the cores here (AgentOptions);
  // nullopt: it offers what was granted on this node.
  std::optional<std::string> cpuset = {};
  std::string log_level = "warn";
  std::string name;      // of the node; "": as the batch system or the host has it
  std::string uri;       // replaces the addresses of the invitation; "": those
  Time until = 0;        // wall clock: the node is gone then; 0: as its batch job, if any
  bool at_hand = false;  // `holon join`: a person reads the messages, and ends it
  // Connections to a starter on this node (assembly/system_start.hpp), this process's and its
  // agents'; -1: there is none, and tasks run as this process's user.
  int starter = -1, starter_of_agent = -1;
};

// Takes the invitation, offers what was granted on this node, asks for a place and keeps an agent
// there (agent_guard.hpp). Returns the process's exit code, a launch::AgentExit.
int remote_agent_main(const RemoteAgentOptions& options);
// Likewise, with the invitation given. REQUIRES: take_standard_descriptors() was called.
int remote_agent_with(const launch::Invitation& invitation, const RemoteAgentOptions& options);

}  // namespace holon::instance
