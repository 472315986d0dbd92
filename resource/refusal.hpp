// refusal.hpp - why a request can never be met, in a sentence that names what was asked for, what
// there is, and how much of it could be had.
#pragma once
#include <string>

#include "resource/graph/graph.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "resource/match/search.hpp"

namespace holon::resource {

// An amount as "1 node", "4 nodes", "16 GiB of memory".
std::string amount_text(std::int64_t amount, const std::string& type);

// A sentence on the hosts that a constraint names, wanted or excluded, and that are not here.
// Empty: all are known. O(hosts it names).
std::string unknown_hosts(const ResourceGraph& graph, const Constraint& constraint);

// Why the request is refused. REQUIRES: the idle graph cannot serve it. `shortage`: what the search
// was short of, for requests of other forms than those of a command line. O(V).
std::string refusal(const ResourceGraph& graph, const Jobspec& spec,
                    const match::Shortage& shortage);

}  // namespace holon::resource
