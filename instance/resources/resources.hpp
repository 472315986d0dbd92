// resources.hpp - the resources of an instance: read once from the command line, hwloc or the
// parent's grant, kept in the journal as text, and read again from there by every later broker, so
// that vertices keep their numbers.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "resource/allocation.hpp"
#include "resource/graph/spec.hpp"

namespace holon::resource {
class ResourceGraph;
}
namespace holon::qmanager {
struct SchedulerConfig;
}

namespace holon::instance {

struct ResourceSource {
  std::string kind;  // shape, jgf, rv1, hwloc; hosts: several topologies of hwloc's
  std::string text;
  bool bind = false;  // core numbers are those of this machine
};

// An agent's description of its node.
struct NodeTopology {
  std::uint32_t rank = 0;
  std::string host, xml;
  std::string digest = {};  // of `xml`; with "" there, the digest of a known topology
};
// One source from `own`, of the node of rank 0, and the others' nodes, with equal topologies once
// (launch/topology.hpp). `own_host`: the name of the node of rank 0; "": its own name.
ResourceSource with_other_nodes(const ResourceSource& own, const std::string& own_host,
                                const std::vector<NodeTopology>& others);
// A source with another node behind those it has. `own_host`: the name of the node of rank 0, if
// that is the only one so far. Errors: unsupported (the source is not made of topologies).
Result<ResourceSource> with_another_node(const ResourceSource& source, const std::string& own_host,
                                         const NodeTopology& node);
// The topology with this digest among those of `source`; "": there is none.
std::string topology_in(const ResourceSource& source, const std::string& digest);
// The graph of that node alone, to be added to the graph that was read from `source`. Errors:
// invalid_argument (not a topology).
Result<resource::GraphSpec> read_node(const NodeTopology& node);
// The ranks of the agents that stand for its nodes, ascending; `expected`: how many there are to
// be.
std::vector<std::uint32_t> agents_of(const ResourceSource& source, std::size_t expected);

// The word for this machine, as hwloc sees it.
inline constexpr const char* kThisMachine = "hwloc";

// A shape ("node=4/core=8") or the name of a file (JGF, Rv1, hwloc XML, or RFC 16's database);
// empty or kThisMachine: this machine, with `most_memory` bytes (0: all it has). Errors:
// invalid_argument, not_found, system.
Result<ResourceSource> find_resources(const std::string& word, std::uint64_t most_memory = 0);
// Could these resources be used? Checked before anything is started. Errors: those of
// find_resources() and read_resources(); a shape without cores.
Status check_resources(const std::string& word);
// Has something among the resources each property that a queue requires? Otherwise every job of
// that queue would be refused, one by one. Errors: invalid_argument with the key.
Status check_required(const std::string& word, const qmanager::SchedulerConfig& config);

// Errors: invalid_argument with the place.
Result<resource::GraphSpec> read_resources(const ResourceSource& source);

// The part of `graph` that `allocation` holds, as a JGF to be granted.
Result<std::string> grant_text(const resource::ResourceGraph& graph,
                               const resource::Allocation& allocation);

// R of a job, and of the whole instance: Rv1 with the JGF under "scheduling".
Result<std::string> R_text(const resource::ResourceGraph& graph,
                           const resource::Allocation& allocation);
std::string R_text(const resource::ResourceGraph& graph);

}  // namespace holon::instance
