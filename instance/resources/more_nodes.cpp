#include "instance/resources/more_nodes.hpp"

#include <fmt/core.h>

#include <map>
#include <vector>

#include "resource/formats/readers.hpp"

namespace holon::instance {
namespace {

using resource::GraphSpec;

constexpr std::int32_t kFirstRank = 1 << 30;  // of nodes that do not exist
constexpr const char* kHypothetical = "+";

}  // namespace

Result<GraphSpec> node_of_shape(const std::string& shape) {
  auto spec = resource::read_shape("node=1/" + shape);
  if (!spec) return fail(spec.error().code, spec.error().what, "shape " + shape);
  const auto core = spec->words.types.find("core");
  for (const auto& row : spec->rows)
    if (core && row.type == *core) return spec;
  return fail(Errc::invalid_argument, "there are no cores in it; core=16 has sixteen",
              "shape " + shape);
}

Result<GraphSpec> own_node(const resource::ResourceGraph& graph) {
  for (const auto node : graph.by_type("node")) {
    if (graph[node].rank != 0) continue;
    GraphSpec spec;
    std::map<resource::VertexId, std::uint32_t> rows;
    rows[graph.root()] =
        spec.add(graph.type_name(graph.root()), graph[graph.root()].id, GraphSpec::kNone);
    for (const auto v : graph.subtree(node)) {
      const auto above = v == node ? graph.root() : graph.parent(v);
      rows[v] = spec.add(graph.type_name(v), graph[v].id, rows.at(above), 0, graph[v].size);
    }
    return spec;
  }
  return fail(Errc::unsupported, "its own node is not known; --shape says what a node has");
}

std::string shape_of(const resource::ResourceGraph& graph, resource::VertexId node) {
  std::string shape;
  const auto below = graph.subtree(node);
  for (const char* type : {"core", "gpu", "memory"}) {
    std::int64_t amount = 0;
    for (const auto v : below) amount += graph.type_name(v) == type ? graph[v].size : 0;
    if (amount > 0) shape += fmt::format("{}{}={}", shape.empty() ? "" : ",", type, amount);
  }
  return shape;
}

std::int64_t cores_in(const GraphSpec& part) {
  const auto core = part.words.types.find("core");
  std::int64_t cores = 0;
  for (const auto& row : part.rows) cores += core && row.type == *core ? row.size : 0;
  return cores;
}

GraphSpec many_like(const GraphSpec& node, std::uint32_t count) {
  GraphSpec spec;
  spec.words = node.words;
  spec.rows = {node.rows.front()};
  const auto type = node.words.types.find("node");
  for (std::uint32_t n = 0; n < count; ++n) {
    const auto first = static_cast<std::uint32_t>(spec.rows.size());
    for (std::size_t i = 1; i < node.rows.size(); ++i) {
      GraphSpec::Row row = node.rows[i];
      row.parent = row.parent == 0 ? 0 : first + row.parent - 1;
      row.rank = kFirstRank + static_cast<std::int32_t>(n);
      row.uniq_id = GraphSpec::kNewUniqId;
      if (type && row.type == *type)
        row.name = spec.words.names.intern(kHypothetical + std::to_string(n));
      spec.rows.push_back(row);
    }
    for (const auto& property : node.properties)
      if (property.row > 0)
        spec.properties.push_back({first + property.row - 1, property.key, property.value});
  }
  return spec;
}

}  // namespace holon::instance
