#include "instance/job/placement.hpp"

#include <algorithm>
#include <map>
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
    if (!v) return;  // a vertex that has been taken away since
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

// Which node task `i` of `n` goes to, and its part [first, last) of that node's cores.
struct Seat {
  std::size_t node = 0, first = 0, last = 0;
};

Seat seat_by_cores(const std::vector<PlacedNode>& nodes, std::int64_t total, std::int64_t i,
                   std::int64_t n) {
  auto begin = static_cast<std::size_t>(i * total / n);
  auto end = static_cast<std::size_t>((i + 1) * total / n);
  if (end == begin) ++end;  // more tasks than cores: they share
  std::size_t node = 0;
  while (begin >= nodes[node].cores.size()) {
    begin -= nodes[node].cores.size();
    end -= nodes[node].cores.size();
    ++node;
  }
  return {node, begin, std::min(end, nodes[node].cores.size())};
}

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

// Of task `i` of `n`. `total`: cores of all nodes.
Seat seat_for(const std::vector<PlacedNode>& nodes, std::int64_t total, std::int64_t i,
              std::int64_t n) {
  if (total > 0) return seat_by_cores(nodes, total, i, n);
  return {static_cast<std::size_t>(i * static_cast<std::int64_t>(nodes.size()) / n), 0, 0};
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

void place_tasks(std::vector<PlacedNode>& nodes, std::int64_t ntasks, Distribution distribution) {
  if (nodes.empty()) return;
  const std::int64_t total = cores_of(nodes);
  for (std::int64_t i = 0; i < ntasks; ++i) {
    const Seat seat = seat_for(nodes, total, i, ntasks);
    auto& node = nodes[seat.node];
    node.tasks.push_back({i,
                          {node.cores.begin() + std::ptrdiff_t(seat.first),
                           node.cores.begin() + std::ptrdiff_t(seat.last)},
                          {}});
  }
  for (auto& node : nodes) deal_gpus(node);
  if (distribution == Distribution::cyclic) deal_ranks(nodes);
}

std::vector<std::size_t> nodes_with_tasks(const std::vector<PlacedNode>& nodes,
                                          std::int64_t ntasks) {
  std::vector<std::size_t> places;
  if (nodes.empty()) return places;
  const std::int64_t total = cores_of(nodes);
  for (std::int64_t i = 0; i < ntasks; ++i)
    if (const auto at = seat_for(nodes, total, i, ntasks).node;
        places.empty() || places.back() != at)
      places.push_back(at);
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
  std::map<VertexId, std::int64_t> held;  // each once, though both it and what it is on are named
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
