// units.hpp - what can be lent, in a graph: cores and GPUs, by the numbers that the root has given
// them, which are the same in all instances below it. With all units of a node that is held whole
// goes whatever else is on it.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "holdings/holding.hpp"
#include "resource/allocation.hpp"
#include "resource/graph/graph.hpp"
#include "resource/graph/spec.hpp"

namespace holon::instance {

holdings::Units units_in(const resource::ResourceGraph& graph);
// Those that an allocation holds. Errors: not_found (a vertex that is not here).
Result<holdings::Units> units_of(const resource::ResourceGraph& graph,
                                 const resource::Allocation& allocation);
// What holds these units and nothing else, for no job and over no time. Units that are not in the
// graph are left out.
resource::Allocation allocation_of(const resource::ResourceGraph& graph,
                                   const holdings::Units& units);
// The nodes that an allocation holds whole.
std::vector<resource::VertexId> whole_nodes(const resource::ResourceGraph& graph,
                                            const resource::Allocation& allocation);
// Can all that the allocation holds be lent: units, and whole nodes? Errors: unsupported, with what
// cannot.
Status are_units(const resource::ResourceGraph& graph, const resource::Allocation& allocation);
// The nodes of all these units, each once. Units that are not in the graph do not count.
std::vector<resource::VertexId> nodes_with(const resource::ResourceGraph& graph,
                                           const holdings::Units& units);

// All units of a node; of all nodes that have some of these.
holdings::Units units_below(const resource::ResourceGraph& graph, resource::VertexId node);
holdings::Units units_beside(const resource::ResourceGraph& graph, const holdings::Units& units);

struct UnitCounts {
  std::int64_t cores = 0, gpus = 0;
};
// Units that are not in the graph do not count.
UnitCounts count(const resource::ResourceGraph& graph, const holdings::Units& units);

// A grant (grant_jgf) names nodes by ranks of its own: the part with the ranks of `graph`, which
// was granted from the same instance before. `rank_for`: the rank of a node that is not in `graph`,
// by its name. Errors: not_found (a node without a name), those of `rank_for`.
Result<resource::GraphSpec> as_part_of(
    const resource::ResourceGraph& graph, resource::GraphSpec part,
    const std::function<Result<std::uint32_t>(const std::string& host)>& rank_for);

// The JGF of a graph with the part, and without the units and whatever stands on nodes of these
// ranks. Errors: those of the formats.
Result<std::string> text_with(const std::string& jgf, const resource::GraphSpec& part);
Result<std::string> text_without(const std::string& jgf, const holdings::Units& units,
                                 const std::vector<std::int32_t>& ranks);

}  // namespace holon::instance
