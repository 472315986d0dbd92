#include "qmanager/machine/uniform.hpp"

#include <algorithm>

namespace holon::qmanager {

using resource::Request;
using resource::ResourceGraph;
using resource::VertexId;

namespace {

constexpr std::int64_t kManyUnits = INT64_MAX / 4;

std::int64_t times(std::int64_t a, std::int64_t b) {
  return a > kManyUnits / std::max<std::int64_t>(b, 1) ? kManyUnits : a * b;
}

std::int64_t least_of(const Request& request, std::string_view type) {
  if (request.type == "xor_slot")
    return 0;  // only one of its kind is taken: no bound to be had cheaply
  std::int64_t units = request.type == type ? 1 : 0;
  for (const Request& child : request.with) units += least_of(child, type);
  return times(units, request.count.min);
}

bool is_fixed(const resource::Count& count) {
  return count.min == count.max && count.values.empty();
}

bool all_fixed(const Request& request) {
  return is_fixed(request.count) && request.type != "xor_slot" &&
         std::all_of(request.with.begin(), request.with.end(), all_fixed);
}

// Have both vertices the same numbers of the same types, in the same order, at and below them?
bool are_alike(const ResourceGraph& graph, VertexId a, VertexId b) {
  if (graph[a].type != graph[b].type || graph[a].size != graph[b].size) return false;
  const auto of_a = graph.children(a), of_b = graph.children(b);
  return std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(),
                    [&](VertexId x, VertexId y) { return are_alike(graph, x, y); });
}

}  // namespace

std::int64_t least_units(const resource::Jobspec& spec, std::string_view type) {
  std::int64_t units = 0;
  for (const Request& request : spec.resources) units += least_of(request, type);
  if (const std::int64_t spare = resource::spare_slots(spec); spare > 0) {
    const Request& slot = spec.resources.front().with.front();
    units -= times(spare, least_of(slot, type) / slot.count.min);
  }
  return units;
}

std::optional<std::int64_t> cores_of_like_nodes(const ResourceGraph& graph) {
  const auto nodes = graph.by_type("node");
  const auto cores = static_cast<std::int64_t>(graph.by_type("core").size());
  const auto count = static_cast<std::int64_t>(nodes.size());
  if (count == 0 || cores == 0 || cores % count != 0) return std::nullopt;
  const VertexId first = nodes.front();
  std::int64_t below = 0;
  for (const VertexId v : graph.by_type("core")) below += graph.within(v, first);
  if (below * count != cores) return std::nullopt;
  const bool alike = std::all_of(nodes.begin(), nodes.end(),
                                 [&](VertexId v) { return are_alike(graph, v, first); });
  return alike ? std::optional(below) : std::nullopt;
}

std::optional<std::int64_t> single_cores(const resource::Jobspec& spec) {
  if (spec.resources.size() != 1 || !spec.constraints.op.empty()) return std::nullopt;
  const Request& top = spec.resources.front();
  if (!is_fixed(top.count) || top.type != "slot" || top.with.size() != 1) return std::nullopt;
  const Request& core = top.with.front();
  if (core.type != "core" || !core.with.empty() || !is_fixed(core.count) || core.count.min != 1)
    return std::nullopt;
  return top.count.min;
}

std::optional<std::int64_t> cores_of_whole_nodes(const resource::Jobspec& spec,
                                                 std::int64_t node_cores) {
  if (spec.resources.size() != 1 || !spec.constraints.op.empty()) return std::nullopt;
  const Request* node = &spec.resources.front();
  std::int64_t nodes = 1;
  if (node->type == "slot" && is_fixed(node->count) && node->with.size() == 1) {
    nodes = node->count.min;
    node = &node->with.front();
  }
  if (node->type != "node" || !is_fixed(node->count) || node->count.min < 1) return std::nullopt;
  nodes = times(nodes, node->count.min);
  std::int64_t each = 0;
  for (const Request& child : node->with) each += least_of(child, "core");
  const bool every_core = each == node_cores && resource::spare_slots(spec) == 0 &&
                          std::all_of(node->with.begin(), node->with.end(), all_fixed);
  if (node->exclusive != true && !every_core) return std::nullopt;
  return times(nodes, node_cores);
}

}  // namespace holon::qmanager
