#include "instance/request/placement.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/hostlist.hpp"
#include "base/idset.hpp"
#include "launch/tasks/deal.hpp"
#include "resource/graph/graph.hpp"

namespace holon::instance {
namespace {

using resource::ResourceGraph;
using resource::VertexId;

struct NodeSets {
  std::string host;
  std::set<std::int64_t> cores, gpus;
};

class Collector {
 public:
  explicit Collector(const ResourceGraph& graph)
      : graph_(graph),
        node_(graph.words().types.find("node")),
        core_(graph.words().types.find("core")),
        gpu_(graph.words().types.find("gpu")) {}

  void add(const resource::Share& share) {
    const auto v = graph_.find_uniq(share.uniq_id);
    if (!v) return;  // the vertex has been removed since
    if (share.exclusive) {
      for (const VertexId below : graph_.subtree(*v)) take(below);
    } else if (share.amount > 0 || is(*v, node_)) {
      take(*v);
    }
  }
  std::map<std::int32_t, NodeSets> nodes;

 private:
  bool is(VertexId v, const std::optional<resource::TypeId>& type) const {
    return type && graph_[v].type == *type;
  }

  void take(VertexId v) {
    const bool node = is(v, node_), core = is(v, core_), gpu = is(v, gpu_);
    if (!node && !core && !gpu) return;
    auto& sets = nodes[graph_[v].rank];
    if (sets.host.empty() && node_) {
      const VertexId host = node ? v : graph_.ancestor_of_type(v, *node_);
      if (host != resource::kNoVertex) sets.host = graph_.name(host);
    }
    if (core) sets.cores.insert(graph_[v].id);
    if (gpu) sets.gpus.insert(graph_[v].id);
  }

  const ResourceGraph& graph_;
  std::optional<resource::TypeId> node_, core_, gpu_;
};

void deal_gpus(PlacedNode& node) {
  const std::size_t n = node.tasks.size();
  if (n == 0 || node.gpus.size() < n) return;
  for (std::size_t i = 0; i < n; ++i)
    node.tasks[i].gpus.assign(node.gpus.begin() + std::ptrdiff_t(i * node.gpus.size() / n),
                              node.gpus.begin() + std::ptrdiff_t((i + 1) * node.gpus.size() / n));
}

}  // namespace

std::vector<PlacedNode> nodes_of(const ResourceGraph& graph,
                                 const resource::Allocation& allocation) {
  Collector collector(graph);
  for (const auto& share : allocation.shares) collector.add(share);
  std::vector<PlacedNode> nodes;
  for (auto& [rank, sets] : collector.nodes)
    nodes.push_back({rank,
                     std::move(sets.host),
                     {sets.cores.begin(), sets.cores.end()},
                     {sets.gpus.begin(), sets.gpus.end()},
                     {}});
  return nodes;
}

namespace {

std::int64_t cores_of(const std::vector<PlacedNode>& nodes) {
  std::int64_t total = 0;
  for (const auto& node : nodes) total += static_cast<std::int64_t>(node.cores.size());
  return total;
}

// How many slots fit on a node.
std::int64_t slots_on(const PlacedNode& node, const SlotShape& shape) {
  std::int64_t slots = INT64_MAX;
  const auto fit = [&](const std::vector<std::int64_t>& there, std::int64_t each) {
    if (each > 0) slots = std::min(slots, static_cast<std::int64_t>(there.size()) / each);
  };
  fit(node.cores, shape.cores);
  fit(node.gpus, shape.gpus);
  return slots;
}

// Each node's weight for its tasks: its slots, or its cores. Not more slots than tasks; the first
// nodes have more of them.
std::vector<std::int64_t> weights_of(const std::vector<PlacedNode>& nodes, std::int64_t ntasks,
                                     const SlotShape& shape) {
  std::vector<std::int64_t> slots;
  if (shape.cores > 0 || shape.gpus > 0)
    for (const auto& node : nodes) slots.push_back(slots_on(node, shape));
  if (shape.on_each > 0) {
    const auto count = static_cast<std::int64_t>(nodes.size());
    const std::int64_t most = std::min(shape.on_each, (ntasks + count - 1) / count);
    for (auto& n : slots) n = std::min(n, most);
    std::int64_t over = std::accumulate(slots.begin(), slots.end(), -ntasks);
    for (auto node = slots.rbegin(); node != slots.rend() && over > 0; ++node)
      if (*node == most && most > 1) --*node, --over;
  }
  if (std::accumulate(slots.begin(), slots.end(), std::int64_t{0}) > 0) return slots;
  slots.clear();
  const bool has_cores = cores_of(nodes) > 0;
  for (const auto& node : nodes)
    slots.push_back(has_cores ? static_cast<std::int64_t>(node.cores.size()) : 1);
  return slots;
}

// How many tasks each node gets.
std::vector<std::int64_t> counts_of(const std::vector<PlacedNode>& nodes, std::int64_t ntasks,
                                    const SlotShape& shape) {
  std::vector<std::int64_t> counts = weights_of(nodes, ntasks, shape);
  const std::int64_t all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const auto tasks_before = [&](std::int64_t weight) { return (weight * ntasks + all - 1) / all; };
  std::int64_t before = 0;
  for (auto& count : counts) {
    const std::int64_t first = tasks_before(before);
    before += count;
    count = tasks_before(before) - first;
  }
  return counts;
}

// The part of a node's ids for the i-th of n tasks, in order; with more tasks than ids they share.
std::vector<std::int64_t> part_of(const std::vector<std::int64_t>& ids, std::size_t i,
                                  std::size_t n) {
  const std::size_t first = i * ids.size() / n;
  const std::size_t last = std::min(ids.size(), std::max(first + 1, (i + 1) * ids.size() / n));
  return {ids.begin() + std::ptrdiff_t(first), ids.begin() + std::ptrdiff_t(last)};
}

void deal_ranks(std::vector<PlacedNode>& nodes) {
  const auto ranks = launch::deal(tasks_by_node(nodes));
  for (std::size_t node = 0; node < nodes.size(); ++node)
    for (std::size_t i = 0; i < nodes[node].tasks.size(); ++i)
      nodes[node].tasks[i].rank = ranks[node][i];
}

}  // namespace

std::vector<std::uint32_t> tasks_by_node(const std::vector<PlacedNode>& nodes) {
  std::vector<std::uint32_t> tasks;
  for (const auto& node : nodes) tasks.push_back(static_cast<std::uint32_t>(node.tasks.size()));
  return tasks;
}

SlotShape slot_shape(const Submission& submission) {
  const auto& resources = submission.spec->resources;
  const auto is_plain = [](const std::vector<resource::Request>& requests) {
    return requests.size() == 1 && requests.front().type == "slot" &&
           std::all_of(requests.front().with.begin(), requests.front().with.end(),
                       [](const resource::Request& part) {
                         return part.with.empty() && part.type != "node" && part.type != "socket";
                       });
  };
  const bool on_nodes = resources.size() == 1 && resources.front().type == "node";
  if (!is_plain(on_nodes ? resources.front().with : resources)) return {};
  const Totals& totals = submission.totals;
  const std::int64_t slots = std::max<std::int64_t>(1, totals.slots);
  return {totals.cores / slots, totals.gpus / slots,
          on_nodes ? resources.front().with.front().count.least() : 0};
}

void place_tasks(std::vector<PlacedNode>& nodes, std::int64_t ntasks, Distribution distribution,
                 const SlotShape& shape) {
  if (nodes.empty()) return;
  const auto counts = counts_of(nodes, ntasks, shape);
  std::int64_t rank = 0;
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    PlacedNode& node = nodes[at];
    const auto n = static_cast<std::size_t>(counts[at]);
    for (std::size_t i = 0; i < n; ++i)
      node.tasks.push_back({rank++, part_of(node.cores, i, n), {}});
    deal_gpus(node);
  }
  if (distribution == Distribution::cyclic) deal_ranks(nodes);
}

std::vector<std::size_t> nodes_with_tasks(const std::vector<PlacedNode>& nodes, std::int64_t ntasks,
                                          const SlotShape& shape) {
  std::vector<std::size_t> places;
  const auto counts = nodes.empty() ? std::vector<std::int64_t>() : counts_of(nodes, ntasks, shape);
  for (std::size_t at = 0; at < counts.size(); ++at)
    if (counts[at] > 0) places.push_back(at);
  return places;
}

Summary summarize(const std::vector<PlacedNode>& nodes) {
  Summary s;
  Hostlist hosts;
  for (const auto& node : nodes) {
    if (!node.host.empty()) hosts.append(node.host);
    s.held.nodes += node.host.empty() ? 0 : 1;
    s.held.cores += static_cast<std::int64_t>(node.cores.size());
    s.held.gpus += static_cast<std::int64_t>(node.gpus.size());
  }
  s.nodelist = hosts.str();
  return s;
}

Summary summarize(const ResourceGraph& graph, const resource::Allocation& allocation) {
  return summarize(nodes_of(graph, allocation));
}

std::vector<qmanager::HostUse> host_uses(const ResourceGraph& graph,
                                         const resource::Allocation& allocation) {
  const auto node = graph.words().types.find("node");
  const auto core = graph.words().types.find("core");
  std::map<VertexId, std::int64_t> held;  // each once, even if it and one above it are named
  for (const auto& share : allocation.shares) {
    const auto v = graph.find_uniq(share.uniq_id);
    if (!v) continue;
    held[*v] = std::max(held[*v], share.amount);
    if (share.exclusive)
      for (const VertexId below : graph.subtree(*v)) held[below] = graph[below].size;
  }
  std::map<std::pair<std::int32_t, std::string>, std::map<std::string, std::int64_t>> hosts;
  for (const auto& [v, amount] : held) {
    const VertexId host = node ? graph.ancestor_of_type(v, *node) : resource::kNoVertex;
    const bool is_core = core && graph[v].type == *core;
    const bool within_core =
        !is_core && core && graph.ancestor_of_type(v, *core) != resource::kNoVertex;
    if (host == resource::kNoVertex || within_core || amount == 0) continue;
    if (is_core || (v != host && graph.is_leaf(v)))
      hosts[{graph[host].rank, graph.name(host)}][graph.type_name(v)] += amount;
  }
  std::vector<qmanager::HostUse> uses;
  for (auto& [host, types] : hosts) {
    qmanager::HostUse use{host.second, types["core"], {}};
    types.erase("core");
    use.other.assign(types.begin(), types.end());
    uses.push_back(std::move(use));
  }
  return uses;
}

NodeLists node_lists(const ResourceGraph& graph, const std::set<std::string>& held) {
  Hostlist free, allocated, down;
  for (const VertexId node : graph.by_type("node")) {
    const std::string host = graph.name(node);
    if (!graph[node].up)
      down.append(host);
    else if (held.contains(host))
      allocated.append(host);
    else if (!graph[node].drained)
      free.append(host);
  }
  return {free.str(), allocated.str(), down.str()};
}

std::string idset_text(const std::vector<std::int64_t>& ids) {
  Idset set;
  for (const auto id : ids)
    if (id >= 0) set.insert(static_cast<std::uint64_t>(id));
  return set.str();
}

}  // namespace holon::instance
