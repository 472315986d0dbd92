// other_nodes.hpp - `holon doctor` on the other nodes of an allocation: started there as the agents
// of an instance would be, in one step.
#pragma once
#include <string>
#include <string_view>

#include "cli/doctor/finding.hpp"

namespace holon::cli {

// A node's findings as a line of JSON. `mark`: a file that the asking node has made; does this node
// see it?
std::string line_of_node(const std::string& host, const Findings& all, const std::string& mark);

// Findings about all other nodes of the allocation: failures and warnings by node, and one that the
// rest are well. Empty if there are no others, or if this host is not among them.
Findings look_at_other_nodes(const instance::Surroundings& around);

}  // namespace holon::cli
