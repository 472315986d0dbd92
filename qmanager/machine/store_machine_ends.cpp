// store_machine_ends.cpp - nodes that will be gone at a known time, and those that are not there
// yet: the part of a StoreMachine that names nodes.
#include <algorithm>
#include <map>

#include "base/hostlist.hpp"
#include "qmanager/machine/store_machine.hpp"
#include "resource/graph/graph.hpp"

namespace holon::qmanager {

using resource::Allocation;

std::vector<Leaving> StoreMachine::leaving(Time now) const {
  const resource::ResourceGraph& graph = store_->graph();
  if (!graph.has_ends()) return {};
  std::map<Time, Hostlist> hosts;
  for (const resource::VertexId node : graph.by_type("node"))
    if (graph[node].has_end && graph.end_of(node) > now)
      hosts[graph.end_of(node)].append(graph.name(node));
  std::vector<Leaving> all;
  for (const auto& [end, names] : hosts) all.push_back({end, names.str()});
  return all;
}

Time StoreMachine::end_of_nodes(JobId job) const {
  const resource::ResourceGraph& graph = store_->graph();
  const Allocation* held = store_->find(job);
  Time end = kTimeMax;
  if (held == nullptr || !graph.has_ends()) return end;
  for (const resource::Share& share : held->shares)
    if (const auto v = graph.find_uniq(share.uniq_id)) end = std::min(end, graph.end_of(*v));
  return end;
}

std::vector<std::string> StoreMachine::hosts_of(JobId job) const {
  std::vector<std::string> hosts;
  const Allocation* held = store_->find(job);
  if (held == nullptr) return hosts;
  const resource::ResourceGraph& graph = store_->graph();
  const auto node = graph.words().types.find("node");
  for (const resource::Share& share : held->shares)
    if (const auto v = graph.find_uniq(share.uniq_id); v && node && graph[*v].type == *node)
      hosts.push_back(graph.name(*v));
  return hosts;
}

bool StoreMachine::is_more_there() {
  const resource::ResourceGraph& graph = store_->graph();
  std::vector<Time> now(graph.slots(), 0);
  bool more = false;
  for (const resource::VertexId v : graph.in_preorder()) {
    const std::size_t at = v.value();
    if (graph[v].schedulable()) now[at] = graph.end_of(v);
    more = more || now[at] > (at < there_until_->size() ? (*there_until_)[at] : 0);
  }
  there_until_ = Shared(std::move(now));
  return more;
}

Status StoreMachine::grow(const resource::GraphSpec& part, Time end) {
  resource::ResourceStore& store = store_.edit_graph();
  const std::size_t before = store.graph().slots();
  if (Status grown = store.grow(part); !grown) return grown;
  for (const resource::VertexId node : store.graph().by_type("node"))
    if (node.value() >= before) store.set_end_of(node, end);
  resources_changed();
  return {};
}

}  // namespace holon::qmanager
