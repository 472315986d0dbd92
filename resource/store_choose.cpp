// store_choose.cpp - the same job elsewhere: on the nodes that somebody likes best.
//
// Each node that is liked outweighs all that is in it and all nodes that are liked less, so that a
// search by score takes from the first what it can. A few nodes are tried before many: what suits
// is mostly among the first, and a node that is out of the question costs one look.
#include <algorithm>

#include "base/check.hpp"
#include "resource/store_state.hpp"

namespace holon::resource {

using match::Chosen;

namespace {

constexpr std::int64_t kNodeWeight = std::int64_t{1} << 33;  // more than any id counts
constexpr std::size_t kFewNodes = 16;
constexpr std::size_t kManyMore = 8;  // times as many, after a search in vain

// Scores by slot of the first `count` nodes, best first; 0 for all others.
std::vector<std::int64_t> scores_of(const ResourceGraph& graph,
                                    std::span<const VertexId> best_first, std::size_t count) {
  std::vector<std::int64_t> scores(graph.slots(), 0);
  for (std::size_t i = 0; i < count; ++i)
    scores[best_first[i].value()] = static_cast<std::int64_t>(count - i) * kNodeWeight;
  return scores;
}

}  // namespace

std::vector<ResourceStore::NodeRoom> ResourceStore::room_on_nodes(std::string_view type,
                                                                  Time now) const {
  std::vector<NodeRoom> rooms;
  const ResourceGraph& graph = state_->graph;
  const auto node = graph.words().types.find("node");
  const auto wanted = graph.words().types.find(type);
  if (!node || !wanted) return rooms;
  const auto& filters = state_->occupancy.filters();
  const auto counted = filters.index_of(*wanted);
  const auto& at_nodes = filters.counted_at(*node);
  if (!counted || std::find(at_nodes.begin(), at_nodes.end(), *counted) == at_nodes.end())
    return rooms;
  for (const VertexId v : graph.by_type("node")) {
    if (!graph.schedulable(v, {now, saturating_add(now, 1)})) continue;
    const Amount total = state_->occupancy.total_below(v, *counted);
    rooms.push_back({v, total, total - state_->occupancy.used_below(v, *counted, now)});
  }
  return rooms;
}

Result<Allocation> ResourceStore::choose_again(JobId job, const Jobspec& spec,
                                               std::span<const VertexId> best_first, Time now) {
  return state_->choose_again(job, spec, best_first, now);
}

Result<Allocation> ResourceStore::State::choose_again(JobId job, const Jobspec& spec,
                                                      std::span<const VertexId> best_first,
                                                      Time now) {
  const auto at = held.find(job);
  if (at == held.end())
    return fail(Errc::not_found, "job " + std::to_string(job.value()) + " holds nothing");
  const auto request = know(spec);
  if (!request) return tl::unexpected(request.error());
  const Held before = *at->second;
  drop(job);
  const match::Policy by_score{match::Order::high, true, policy.node_exclusive, false};
  match::Search search(graph, occupancy, by_score, order, scratch);
  std::optional<std::vector<Chosen>> found;
  for (std::size_t tried = 0; !found && tried < best_first.size();) {
    const std::size_t count =
        std::min(tried == 0 ? kFewNodes : tried * kManyMore, best_first.size());
    tried = count;
    const auto scores = scores_of(graph, best_first, count);
    found = search.run({.request = &(**request).request,
                        .when = before.hold.when,
                        .now = false,
                        .node_scores = &scores});
  }
  if (found && found->empty()) found.reset();
  if (!found) {
    const Status held_again =
        impose({before.allocation, before.hold.when, before.reserved}, before.hold.when.begin);
    HOLON_CHECK(held_again.has_value());
    return held.at(job)->allocation;
  }
  mark_whole(*found);
  Allocation chosen = allocation_of(graph, job, before.allocation.when, *found);
  const Allocation& taken = take(std::move(chosen), *found, before.reserved);
  touch(*found, before.hold.when, now, false);
  return taken;
}

}  // namespace holon::resource
