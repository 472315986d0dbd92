// store_machine_place.cpp - moves a job to the nodes with the best scores.
#include <algorithm>
#include <map>
#include <tuple>

#include "qmanager/machine/host_placement.hpp"
#include "qmanager/machine/store_machine.hpp"
#include "resource/graph/graph.hpp"

namespace holon::qmanager {

using resource::Allocation;
using resource::VertexId;

namespace {

// Cores that an allocation has of each node.
std::map<VertexId, std::int64_t> cores_by_node(const resource::ResourceGraph& graph,
                                               const Allocation& allocation) {
  std::map<VertexId, std::int64_t> cores;
  const auto node = graph.words().types.find("node");
  const auto core = graph.words().types.find("core");
  if (!node) return cores;
  for (const resource::Share& share : allocation.shares) {
    const auto v = graph.find_uniq(share.uniq_id);
    const VertexId on = v ? graph.ancestor_of_type(*v, *node) : resource::kNoVertex;
    if (on == resource::kNoVertex) continue;
    cores[on] += core && graph[*v].type == *core ? share.amount : 0;
  }
  return cores;
}

struct Liked {
  VertexId node;
  double score = 0;
  bool chosen = false;  // the job was placed there by the match policy
};

Place place_of(const resource::ResourceGraph& graph, const resource::ResourceStore::NodeRoom& room,
               std::int64_t mine) {
  const VertexId above = graph.parent(room.node);
  return {{room.node, above},
          graph.name(room.node),
          above == resource::kNoVertex ? std::string() : graph.path(above),
          room.total,
          room.free + mine};
}

}  // namespace

std::vector<NodeId> StoreMachine::nodes_of(JobId job) const {
  std::vector<NodeId> nodes;
  const Allocation* const held = store_->find(job);
  if (held == nullptr) return nodes;
  for (const auto& [node, cores] : cores_by_node(store_->graph(), *held))
    nodes.push_back({node, store_->graph().parent(node)});
  return nodes;
}

Allocation StoreMachine::place_by(const JobRequest& job, Time now, const PlaceScore& score) {
  const Allocation* const held = store_->find(job.id);
  if (held == nullptr || !is_plain(job)) return holding(job.id);
  const auto mine = cores_by_node(store_->graph(), *held);
  std::vector<Liked> liked;
  bool opinion = false;
  for (const auto& room : store_->room_on_nodes("core", now)) {
    const auto at = mine.find(room.node);
    const Place place = place_of(store_->graph(), room, at == mine.end() ? 0 : at->second);
    if (place.free <= 0) continue;
    const std::optional<double> answer = score(place);
    opinion = opinion || answer;
    liked.push_back({room.node, answer.value_or(0), at != mine.end()});
  }
  if (!opinion) return *held;
  std::stable_sort(liked.begin(), liked.end(), [](const Liked& a, const Liked& b) {
    return std::tuple(-a.score, !a.chosen) < std::tuple(-b.score, !b.chosen);
  });
  std::vector<VertexId> best_first;
  for (const Liked& one : liked) best_first.push_back(one.node);
  free_at_ = -1;
  auto chosen = store_.edit().choose_again(job.id, *job.spec, best_first, now);
  return chosen ? std::move(*chosen) : holding(job.id);
}

}  // namespace holon::qmanager
