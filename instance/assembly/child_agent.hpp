// child_agent.hpp - the process of a child instance on each of its nodes but the first: a task of
// the parent's agent there, which becomes the child's agent.
#pragma once
#include <cstdint>
#include <string>

#include "instance/agents/child_place.hpp"

namespace holon::instance {

struct ChildAgentOptions {
  std::string parent_uri;  // where the parent answers on this node
  std::string token;       // the child's secret for its parent
  std::uint64_t job = 0;   // the child's job in its parent
  std::string cpuset;      // the frame in which the parent numbers the cores of this node
  ChildPlace place;
  std::string log_level = "warn";
};

// Asks the parent for the child's invitation, waits until the child has given it, and runs the
// agent. Returns the process's exit code, a launch::AgentExit.
int child_agent_main(const ChildAgentOptions& options);

}  // namespace holon::instance
