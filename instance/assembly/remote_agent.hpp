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
  std::int64_t rank = -1;  // that its launcher was told to tell it; negative: none
  std::string invitation;  // a file; "": from the variable or standard input
  // Of a child instance: the frame in which its parent numbers the cores here (AgentOptions);
  // nullopt: it offers what was granted on this node.
  std::optional<std::string> cpuset = {};
  std::string log_level = "warn";
  std::string name;  // what the node is called; "": as the batch system or the host calls it
  std::string uri;   // in place of the addresses of the invitation; "": those
  Time until = 0;    // wall clock: the node is gone then; 0: as its batch job is, if it is in one
  bool at_hand = false;  // `holon join`: a person reads what it says, and ends it
  // Connections to a starter on this node (users/system_start.hpp), this process's and its agents';
  // -1: there is none, and tasks are this process's user's.
  int starter = -1, starter_of_agent = -1;
};

// Takes its invitation, offers what was granted on this node, asks for its place and keeps an agent
// there (agent_guard.hpp). Returns the process's exit code, a launch::AgentExit.
int remote_agent_main(const RemoteAgentOptions& options);
// The same with an invitation that has come. REQUIRES: take_standard_descriptors() was called.
int remote_agent_with(const launch::Invitation& invitation, const RemoteAgentOptions& options);

}  // namespace holon::instance
