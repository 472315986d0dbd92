// handed.hpp - what the process that keeps an agent alive hands to each of them in a descriptor:
// the agent's options, keys included.
#pragma once
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "launch/agent.hpp"

namespace holon::launch {

// Bytes for transport::secret_in_descriptor(). Of the options, what an agent on another node than
// its broker's needs: `cgroup`, `supervisor` and `starter` are not among them.
std::string write_handed(const AgentOptions& options);
// Errors: protocol.
Result<AgentOptions> parse_handed(std::string_view bytes);

}  // namespace holon::launch
