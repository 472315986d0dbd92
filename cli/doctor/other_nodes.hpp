// other_nodes.hpp - `holon doctor` on the other nodes of an allocation: started there as the agents
// of an instance would be, in one step.
#pragma once
#include <string>
#include <string_view>

#include "cli/doctor/finding.hpp"

namespace holon::cli {

// What one node says of itself, a line of JSON. `mark`: a file that the asking node has made; does
// this node see it?
std::string line_of_node(const std::string& host, const Findings& all, const std::string& mark);

// Of all nodes of the allocation but this one: what has failed or is a warning there, by node, and
// that the others are well. Nothing where there are no others, or this host is none of them.
Findings look_at_other_nodes(const instance::Surroundings& around);

}  // namespace holon::cli
