// system_join.hpp - `holon join --system`: a node with a starter of its own joins an instance that
// serves several users.
#pragma once
#include <string>
#include <vector>

#include "instance/assembly/remote_agent.hpp"

namespace holon::instance {

struct SystemJoin {
  std::string account = "holon", runtime_place = "/run/holon";  // as of StartOptions
  std::vector<std::string> conf;  // as in StartOptions: whom root starts tasks for here
};

// Takes the invitation and makes the starter as root; then becomes the account that keeps an agent
// here. Returns the process's exit code, a launch::AgentExit.
int system_join_main(RemoteAgentOptions options, const SystemJoin& system);

}  // namespace holon::instance
