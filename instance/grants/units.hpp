// units.hpp - what can be lent by itself, in a graph: cores and GPUs, by the numbers that the root
// has given them, which are the same in all instances below it.
#pragma once
#include <cstdint>

#include "base/result.hpp"
#include "holdings/holding.hpp"
#include "resource/allocation.hpp"
#include "resource/graph/spec.hpp"

namespace holon::resource {
class ResourceGraph;
}

namespace holon::instance {

holdings::Units units_in(const resource::ResourceGraph& graph);
// Those that an allocation holds. Errors: not_found (a vertex that is not here).
Result<holdings::Units> units_of(const resource::ResourceGraph& graph,
                                 const resource::Allocation& allocation);
// Can all that the allocation holds be lent by itself? Errors: unsupported, with what cannot.
Status are_units(const resource::ResourceGraph& graph, const resource::Allocation& allocation);

struct UnitCounts {
  std::int64_t cores = 0, gpus = 0;
};
// Units that are not in the graph do not count.
UnitCounts count(const resource::ResourceGraph& graph, const holdings::Units& units);
// Of all units on the nodes that have some of these. O(what these nodes have).
UnitCounts count_on_nodes_of(const resource::ResourceGraph& graph, const holdings::Units& units);

// A grant (grant_jgf) names nodes by ranks of its own: the part with the ranks of `graph`, which
// was granted from the same instance before. Errors: not_found (a node that is not in `graph`).
Result<resource::GraphSpec> as_part_of(const resource::ResourceGraph& graph,
                                       resource::GraphSpec part);

// The JGF of a graph with the part, and without the units. Errors: those of the formats.
Result<std::string> text_with(const std::string& jgf, const resource::GraphSpec& part);
Result<std::string> text_without(const std::string& jgf, const holdings::Units& units);

}  // namespace holon::instance
