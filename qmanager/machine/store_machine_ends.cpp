// store_machine_ends.cpp - nodes, or parts of them, that will be gone at a known time, and those
// that are not there yet: the part of a StoreMachine that names nodes.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hostlist.hpp"
#include "qmanager/machine/store_machine.hpp"
#include "resource/graph/graph.hpp"

namespace holon::qmanager {

using resource::Allocation;

namespace {

// What leaves at one time.
struct Departure {
  Hostlist nodes;                    // whole ones
  Hostlist hosts;                    // of the parts
  std::int64_t cores = 0, gpus = 0;  // parts of nodes that stay

  std::string text() const {
    std::vector<std::string> words;
    if (!nodes.empty()) words.push_back(nodes.str() + " of it");
    if (cores > 0) words.push_back(fmt::format("{} core{}", cores, cores == 1 ? "" : "s"));
    if (gpus > 0) words.push_back(fmt::format("{} gpu{}", gpus, gpus == 1 ? "" : "s"));
    const std::string all = fmt::format("{}", fmt::join(words, " and "));
    return cores + gpus > 0 ? all + " of " + hosts.str() : all;
  }
};

class Departures {
 public:
  Departures(const resource::ResourceGraph& graph, Time now) : graph_(graph), now_(now) {
    for (const resource::VertexId node : graph.by_type("node"))
      if (leaves(node)) at_[graph.end_of(node)].nodes.append(graph.name(node));
    add_parts("core", &Departure::cores);
    add_parts("gpu", &Departure::gpus);
  }
  std::vector<Leaving> all() const {
    std::vector<Leaving> all;
    for (const auto& [end, departure] : at_) all.push_back({end, departure.text()});
    return all;
  }

 private:
  bool leaves(resource::VertexId v) const { return graph_[v].has_end && graph_.end_of(v) > now_; }

  void add_parts(std::string_view type, std::int64_t Departure::*count) {
    for (const resource::VertexId v : graph_.by_type(type)) {
      if (!leaves(v)) continue;
      Departure& departure = at_[graph_.end_of(v)];
      ++(departure.*count);
      const auto node = node_of(v);
      if (node && named_.emplace(graph_.end_of(v), *node).second)
        departure.hosts.append(graph_.name(*node));
    }
  }
  std::optional<resource::VertexId> node_of(resource::VertexId v) const {
    for (; v != graph_.root(); v = graph_.parent(v))
      if (graph_.type_name(v) == "node") return v;
    return std::nullopt;
  }

  const resource::ResourceGraph& graph_;
  const Time now_;
  std::map<Time, Departure> at_;
  std::set<std::pair<Time, resource::VertexId>> named_;
};

}  // namespace

std::vector<Leaving> StoreMachine::leaving(Time now) const {
  const resource::ResourceGraph& graph = store_->graph();
  return graph.has_ends() ? Departures(graph, now).all() : std::vector<Leaving>();
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
