// store_part.cpp - giving back listed vertices of an allocation, and the marks that `find` shows.
//
// The counters above what is given back go down by what it held, type by type; where all of them
// reach zero, the job has nothing to do with that vertex any more. Types that are not counted there
// cannot tell, so such a vertex keeps its tag until the job ends. Source: Fluxion's partial cancel.
#include <algorithm>
#include <map>

#include "resource/store_state.hpp"

namespace holon::resource {
namespace {

using Mark = ResourceStore::State::Mark;

using Units = std::map<TypeId, Amount>;

bool all_zero(const std::vector<Amount>& amounts) {
  return std::all_of(amounts.begin(), amounts.end(), [](Amount units) { return units == 0; });
}

// A vertex whose parent is still to come, on the way through shares in post-order.
struct Open {
  VertexId vertex;
  VertexId via;              // of a link
  std::vector<Amount> sums;  // of each counted type, itself included
  bool counts = false;       // a vertex of a counted type is among them
};

}  // namespace

VertexId ResourceStore::State::via(const Allocation& allocation, std::int64_t uniq_id) const {
  const auto at =
      std::ranges::find(allocation.links, uniq_id, [](const auto& l) { return l.first; });
  if (at == allocation.links.end()) return kNoVertex;
  return graph.find_uniq(at->second).value_or(kNoVertex);
}

std::vector<Mark> ResourceStore::State::marks_of(const Held& mine) const {
  if (!mine.marks.empty()) return mine.marks;
  const auto stands_below = [&](const Open& one, VertexId v) {
    return one.via == kNoVertex ? graph.within(one.vertex, v) : one.via == v;
  };
  const match::Filters& filters = occupancy.filters();
  const std::size_t types = filters.types().size();
  std::vector<Open> open;
  std::vector<Mark> marks;
  marks.reserve(mine.allocation.shares.size());
  for (const Share& share : mine.allocation.shares) {
    const VertexId v = *graph.find_uniq(share.uniq_id);
    const TypeId type = graph[v].type;
    Open here{v, via(mine.allocation, share.uniq_id), std::vector<Amount>(types), false};
    while (!open.empty() && stands_below(open.back(), v)) {
      for (std::size_t i = 0; i < types; ++i) here.sums[i] += open.back().sums[i];
      here.counts = here.counts || open.back().counts;
      open.pop_back();
    }
    Mark& mark = marks.emplace_back();
    mark.vertex = v;
    mark.holds = share.exclusive || (share.amount > 0 && occupancy.is_pool(type));
    if (mark.holds) mark.units = share.exclusive ? graph[v].size : share.amount;
    const auto& counted = filters.counted_at(type);
    mark.counted = here.counts && !counted.empty() && !occupancy.is_leaf(v);
    if (mark.counted)
      for (const std::uint32_t i : counted) mark.planned.push_back(here.sums[i]);
    if (const auto i = filters.index_of(type)) {
      here.counts = true;
      here.sums[*i] += mark.units;
    }
    open.push_back(std::move(here));
  }
  return marks;
}

Status ResourceStore::State::unmark(std::vector<Mark>& marks,
                                    const std::set<VertexId>& gone) const {
  std::map<VertexId, Units> leaving;  // from vertices above
  for (Mark& mark : marks) {
    if (!gone.contains(mark.vertex)) continue;
    if (mark.holds)
      for (VertexId up = graph.parent(mark.vertex); up != kNoVertex; up = graph.parent(up))
        if (!gone.contains(up)) leaving[up][graph[mark.vertex].type] += mark.units;
    mark = Mark{mark.vertex, false, 0, false, false, {}};
  }
  const match::Filters& filters = occupancy.filters();
  for (Mark& mark : marks) {
    const auto units = leaving.find(mark.vertex);
    if (units == leaving.end() || !mark.tagged || !mark.counted) continue;
    const auto& counted = filters.counted_at(graph[mark.vertex].type);
    for (std::size_t i = 0; i < counted.size(); ++i) {
      const auto of_type = units->second.find(filters.types()[counted[i]]);
      if (of_type == units->second.end()) continue;
      if (of_type->second > mark.planned[i])
        return fail(Errc::not_found, "the job has less than that below " + graph.path(mark.vertex));
      mark.planned[i] -= of_type->second;
    }
    if (all_zero(mark.planned)) mark = Mark{mark.vertex, mark.holds, mark.units, false, false, {}};
  }
  return {};
}

TraversalCounts ResourceStore::State::walk_of(const Held& mine) const {
  TraversalCounts walk{1, mine.allocation.shares.size()};
  if (graph.has_links()) {  // a vertex below two is met once
    std::set<VertexId> met{graph.root()};
    for (const match::Hold::Item& item : mine.hold.items) {
      met.insert(graph.children(item.vertex).begin(), graph.children(item.vertex).end());
      met.insert(graph.links(item.vertex).begin(), graph.links(item.vertex).end());
    }
    walk.preorder = met.size();
    return walk;
  }
  if (mine.marks.empty()) {
    for (const match::Hold::Item& item : mine.hold.items)
      walk.preorder +=
          item.whole ? graph.subtree(item.vertex).size() - 1 : graph.children(item.vertex).size();
    return walk;
  }
  std::set<VertexId> tagged;
  for (const Mark& mark : mine.marks)
    if (mark.tagged) tagged.insert(mark.vertex);
  walk = {};
  std::vector<VertexId> next;
  if (tagged.contains(graph.root())) next.push_back(graph.root());
  walk.preorder = next.size();
  for (; !next.empty(); ++walk.postorder) {
    const VertexId v = next.back();
    next.pop_back();
    walk.preorder += graph.children(v).size();
    for (const VertexId child : graph.children(v))
      if (tagged.contains(child)) next.push_back(child);
  }
  return walk;
}

Result<bool> ResourceStore::release_listed(JobId job, std::span<const VertexId> vertices) {
  State& state = *state_;
  const auto at = state.held.find(job);
  if (at == state.held.end())
    return fail(Errc::not_found, "job " + std::to_string(job.value()) + " holds nothing");
  const State::Held& mine = *at->second;
  if (mine.reserved) return fail(Errc::unsupported, "a reservation cannot be given back in part");
  auto marks = state.marks_of(mine);
  std::set<VertexId> tagged;
  for (const Mark& mark : marks)
    if (mark.tagged) tagged.insert(mark.vertex);
  const std::set<VertexId> gone(vertices.begin(), vertices.end());
  for (const VertexId v : gone)
    if (!tagged.contains(v))
      return fail(Errc::not_found, "the job has nothing there", state.graph.path(v));
  if (gone.empty()) return fail(Errc::not_found, "nothing that the job holds is named");
  if (auto ok = state.unmark(marks, gone); !ok) return tl::unexpected(ok.error());
  std::set<std::int64_t> holds;
  bool root_is_tagged = false;
  for (const Mark& mark : marks) {
    if (mark.holds) holds.insert(state.graph[mark.vertex].uniq_id);
    root_is_tagged = root_is_tagged || (mark.tagged && mark.vertex == state.graph.root());
  }
  if (!root_is_tagged) {
    state.drop(job);
    return true;
  }
  std::vector<Share> kept = mine.allocation.shares;
  std::erase_if(kept, [&](const Share& share) { return !holds.contains(share.uniq_id); });
  std::erase_if(marks, [](const Mark& mark) { return !mark.tagged && !mark.holds; });
  state.exchange(job, std::move(kept), mine.hold.when.begin);
  state.held.at(job).edit().marks = std::move(marks);
  return false;
}

}  // namespace holon::resource
