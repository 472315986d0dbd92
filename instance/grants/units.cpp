#include "instance/grants/units.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "resource/formats/readers.hpp"
#include "resource/formats/writers.hpp"

namespace holon::instance {
namespace {

using resource::ResourceGraph;
using resource::VertexId;

bool is_unit(const ResourceGraph& graph, VertexId v) {
  const std::string& type = graph.type_name(v);
  return (type == "core" || type == "gpu") && graph[v].size == 1;
}

void add_unit(holdings::Units& units, const ResourceGraph& graph, VertexId v) {
  if (graph[v].uniq_id >= 0) units.insert(static_cast<std::uint64_t>(graph[v].uniq_id));
}

std::optional<VertexId> find_unit(const ResourceGraph& graph, std::uint64_t unit) {
  return graph.find_uniq(static_cast<std::int64_t>(unit));
}

// The rank that a node has in the instance above; nullopt: it is not told.
std::optional<std::int32_t> rank_above(std::string_view extensions) {
  if (extensions.empty()) return std::nullopt;
  const auto object = nlohmann::json::parse(extensions, nullptr, false);
  if (!object.is_object() || !object.contains("x-parent-rank")) return std::nullopt;
  const auto& rank = object["x-parent-rank"];
  return rank.is_number_integer() ? std::optional(rank.get<std::int32_t>()) : std::nullopt;
}

// The name of the node of this rank, in a part; "": it has none.
std::string host_of(const resource::GraphSpec& part, std::int32_t rank) {
  for (const auto& row : part.rows) {
    if (row.rank != rank || part.words.types.text(row.type) != "node") continue;
    if (row.name.value() != resource::GraphSpec::kNone) return part.words.names.text(row.name);
    return part.words.names.text(row.basename) + (row.id < 0 ? "" : std::to_string(row.id));
  }
  return "";
}

Result<ResourceGraph> graph_of_text(const std::string& jgf) {
  const auto spec = resource::read_jgf(jgf);
  if (!spec) return tl::unexpected(spec.error());
  return ResourceGraph::build(*spec);
}

}  // namespace

holdings::Units units_in(const ResourceGraph& graph) {
  holdings::Units units;
  for (const VertexId v : graph.in_preorder())
    if (is_unit(graph, v)) add_unit(units, graph, v);
  return units;
}

Result<holdings::Units> units_of(const ResourceGraph& graph,
                                 const resource::Allocation& allocation) {
  holdings::Units units;
  for (const resource::Share& share : allocation.shares) {
    const auto v = graph.find_uniq(share.uniq_id);
    if (!v) return fail(Errc::not_found, "a vertex that it holds is not here");
    if (share.amount == 0) continue;
    if (is_unit(graph, *v)) add_unit(units, graph, *v);
    if (!share.exclusive) continue;
    for (const VertexId below : graph.subtree(*v))
      if (is_unit(graph, below)) add_unit(units, graph, below);
  }
  return units;
}

resource::Allocation allocation_of(const ResourceGraph& graph, const holdings::Units& units) {
  resource::Allocation held;
  for (const std::uint64_t unit : units.ids())
    if (const auto v = find_unit(graph, unit))
      held.shares.push_back({graph[*v].uniq_id, graph[*v].size, true});
  return held;
}

std::vector<VertexId> whole_nodes(const ResourceGraph& graph,
                                  const resource::Allocation& allocation) {
  std::vector<VertexId> nodes;
  for (const resource::Share& share : allocation.shares)
    if (const auto v = graph.find_uniq(share.uniq_id);
        v && share.exclusive && graph.type_name(*v) == "node")
      nodes.push_back(*v);
  return nodes;
}

Status are_units(const ResourceGraph& graph, const resource::Allocation& allocation) {
  const auto whole = whole_nodes(graph, allocation);
  for (const resource::Share& share : allocation.shares) {
    const auto v = graph.find_uniq(share.uniq_id);
    if (!v) return fail(Errc::not_found, "a vertex that it holds is not here");
    if (share.amount == 0 || is_unit(graph, *v)) continue;
    if (std::any_of(whole.begin(), whole.end(),
                    [&](VertexId node) { return graph.within(*v, node); }))
      continue;
    // What is below a core, or between a node and its cores, comes with the cores.
    const bool is_within = graph.parent(*v) != resource::kNoVertex;
    const std::string& type = graph.type_name(*v);
    if (is_within && (type == "pu" || type == "socket" || type == "numanode" || type == "slot"))
      continue;
    return fail(Errc::unsupported,
                fmt::format("cores and GPUs of nodes that it has can be lent, and whole nodes; not "
                            "a {}",
                            type));
  }
  return {};
}

std::vector<VertexId> nodes_with(const ResourceGraph& graph, const holdings::Units& units) {
  std::vector<VertexId> nodes;
  std::set<VertexId> known;
  for (const std::uint64_t unit : units.ids()) {
    auto v = find_unit(graph, unit).value_or(resource::kNoVertex);
    while (v != resource::kNoVertex && graph.type_name(v) != "node") v = graph.parent(v);
    if (v != resource::kNoVertex && known.insert(v).second) nodes.push_back(v);
  }
  return nodes;
}

holdings::Units units_below(const ResourceGraph& graph, VertexId node) {
  holdings::Units units;
  for (const VertexId v : graph.subtree(node))
    if (is_unit(graph, v)) add_unit(units, graph, v);
  return units;
}

holdings::Units units_beside(const ResourceGraph& graph, const holdings::Units& units) {
  holdings::Units all;
  for (const VertexId node : nodes_with(graph, units))
    all = holdings::all_of(all, units_below(graph, node));
  return all;
}

UnitCounts count(const ResourceGraph& graph, const holdings::Units& units) {
  UnitCounts counts;
  for (const std::uint64_t unit : units.ids())
    if (const auto v = find_unit(graph, unit))
      ++(graph.type_name(*v) == "gpu" ? counts.gpus : counts.cores);
  return counts;
}

Result<resource::GraphSpec> as_part_of(
    const ResourceGraph& graph, resource::GraphSpec part,
    const std::function<Result<std::uint32_t>(const std::string& host)>& rank_for) {
  std::map<std::int32_t, std::int32_t> here;  // by the rank above
  for (const VertexId node : graph.by_type("node"))
    if (const auto above = rank_above(graph.extensions(node))) here[*above] = graph[node].rank;
  std::map<std::int32_t, std::int32_t> ranks;  // by the part's
  for (const auto& extension : part.extensions)
    if (const auto above = rank_above(extension.json)) {
      const std::int32_t its = part.rows[extension.row].rank;
      if (its < 0 || ranks.contains(its)) continue;
      if (const auto known = here.find(*above); known != here.end()) {
        ranks[its] = known->second;
        continue;
      }
      const std::string host = host_of(part, its);
      if (host.empty()) return fail(Errc::not_found, "a node that comes has no name");
      const auto made = rank_for(host);
      if (!made) return tl::unexpected(made.error());
      ranks[its] = static_cast<std::int32_t>(*made);
    }
  for (auto& row : part.rows) {
    if (row.rank < 0) continue;
    const auto known = ranks.find(row.rank);
    if (known == ranks.end()) return fail(Errc::not_found, "it has no agent on that node");
    row.rank = known->second;
  }
  return part;
}

Result<std::string> text_with(const std::string& jgf, const resource::GraphSpec& part) {
  auto graph = graph_of_text(jgf);
  if (!graph) return tl::unexpected(graph.error());
  if (auto grown = graph->grow(part); !grown) return tl::unexpected(grown.error());
  return resource::write_jgf(*graph);
}

Result<std::string> text_without(const std::string& jgf, const holdings::Units& units,
                                 const std::vector<std::int32_t>& ranks) {
  auto graph = graph_of_text(jgf);
  if (!graph) return tl::unexpected(graph.error());
  if (!ranks.empty())
    if (auto gone = graph->shrink_ranks(ranks); !gone) return tl::unexpected(gone.error());
  for (const std::uint64_t unit : units.ids())
    if (const auto v = find_unit(*graph, unit))
      if (auto gone = graph->shrink(*v); !gone) return tl::unexpected(gone.error());
  return resource::write_jgf(*graph);
}

}  // namespace holon::instance
