// uniform.hpp - jobs for which it plays no part which resources they get, only how many. Private to
// qmanager/.
//
// That is so where all jobs ask for single cores anywhere, and also where all take whole nodes and
// all nodes are alike: what is free is then always whole nodes, and any of them will do.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "resource/graph/graph.hpp"
#include "resource/jobspec/jobspec.hpp"

namespace holon::qmanager {

// The least number of units of `type` that can meet a jobspec: its smallest counts multiplied along
// the tree.
std::int64_t least_units(const resource::Jobspec& spec, std::string_view type);

// Cores of each node, where all cores are in nodes and all nodes have the same below them. O(V).
std::optional<std::int64_t> cores_of_like_nodes(const resource::ResourceGraph& graph);

// Cores that the jobspec takes, if these are single cores anywhere, or whole nodes of `node_cores`
// cores each: either alone on them or with every core.
std::optional<std::int64_t> single_cores(const resource::Jobspec& spec);
std::optional<std::int64_t> cores_of_whole_nodes(const resource::Jobspec& spec,
                                                 std::int64_t node_cores);

}  // namespace holon::qmanager
