// handed.hpp - the options of an agent, keys included, as its guard hands them to each agent it
// starts, in a descriptor.
#pragma once
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "launch/agent.hpp"

namespace holon::launch {

// Bytes for transport::secret_in_descriptor(): the options that an agent on another node than its
// broker's needs, without `cgroup`, `supervisor` and `starter`.
std::string write_handed(const AgentOptions& options);
// Errors: protocol.
Result<AgentOptions> parse_handed(std::string_view bytes);

}  // namespace holon::launch
