// store_hold.cpp - holding and giving back, and allocations that come from outside (recovery).
#include <algorithm>
#include <map>
#include <unordered_set>

#include "base/check.hpp"
#include "resource/question.hpp"
#include "resource/store_state.hpp"

namespace holon::resource {

using match::Chosen;

const Allocation& ResourceStore::State::take(Allocation allocation,
                                             std::span<const Chosen> selection, bool reserved) {
  const JobId job = allocation.job;
  oddities.plan_changes(allocation.when);
  Held& mine = held[job].edit();
  mine.hold = occupancy.take(graph, selection, allocation.when);
  mine.reserved = reserved;
  if (reserved)
    ++reservations;
  else
    ends.emplace(allocation.when.end, job);
  mine.allocation = std::move(allocation);
  for (const Chosen& chosen : selection)
    if (!chosen.implied) changes.add(chosen.vertex, chosen.whole);
  return mine.allocation;
}

void ResourceStore::State::drop(JobId job) {
  const auto at = held.find(job);
  const match::Hold& hold = at->second->hold;
  counts = {};
  oddities.plan_changes(hold.when);
  for (const match::Hold::Item& item : hold.items) changes.add(item.vertex, item.whole);
  ends.erase({hold.when.end, job});
  if (at->second->reserved) --reservations;
  occupancy.give_back(hold);
  ++freed;
  for (const auto& one : known) {
    if (!one->front) continue;
    for (const match::Hold::Item& item : hold.items)
      if (item.units > 0) one->front->revive(graph, item.vertex, !occupancy.is_leaf(item.vertex));
  }
  held.erase(at);
}

void ResourceStore::State::exchange(JobId job, std::vector<Share> shares, Time from) {
  Held& mine = held.at(job).edit();
  Allocation allocation = std::move(mine.allocation);
  const bool reserved = mine.reserved;
  const Interval planned = allocation.when;
  const Interval window{std::max(from, mine.hold.when.begin), mine.hold.when.end};
  drop(job);
  allocation.shares = std::move(shares);
  const auto selection = selection_of(allocation);
  HOLON_CHECK(selection.has_value());
  allocation.shares.clear();
  std::unordered_set<std::int64_t> listed;
  for (const Chosen& chosen : *selection) {
    allocation.shares.push_back({graph[chosen.vertex].uniq_id, chosen.units, chosen.exclusive});
    if (!allocation.labels.empty()) listed.insert(graph[chosen.vertex].uniq_id);
  }
  std::erase_if(allocation.labels,
                [&](const auto& label) { return !listed.contains(label.first); });
  allocation.when = window;
  take(std::move(allocation), *selection, reserved);
  held.at(job).edit().allocation.when = planned;
}

void ResourceStore::State::touch(std::span<const Chosen> selection, Interval when, Time now,
                                 bool dry) {
  // A question changes nothing, except in Fluxion.
  if (!policy.stop_at_first || ((dry || when.begin > now) && !options.as_fluxion)) return;
  for (const Chosen& chosen : selection) {
    if (occupancy.is_leaf(chosen.vertex)) continue;
    Amount left = occupancy.scarcest_free(graph[chosen.vertex].type, chosen.vertex, now);
    if (left < 0) continue;
    if (dry && left == 0 && !occupancy.is_used(chosen.vertex)) continue;
    // a vertex covered by a whole one has no counters of its own to tell
    if (chosen.implied && !dry && when.contains(now)) left = 0;
    order.update(graph, chosen.vertex, left);
  }
}

namespace {

// The vertices below before above, along the ways by which they were reached.
std::vector<Chosen> in_linked_order(const ResourceGraph& graph,
                                    const std::vector<Chosen>& selection) {
  std::map<VertexId, std::vector<const Chosen*>> below;
  for (const Chosen& chosen : selection) below[above(graph, chosen)].push_back(&chosen);
  std::vector<Chosen> ordered;
  std::vector<const Chosen*> open = below[kNoVertex];
  while (!open.empty()) {  // above before below, last child first: the reverse of what is wanted
    const Chosen* chosen = open.back();
    open.pop_back();
    ordered.push_back(*chosen);
    const auto& next = below[chosen->vertex];
    open.insert(open.end(), next.begin(), next.end());
  }
  std::reverse(ordered.begin(), ordered.end());
  return ordered;
}

}  // namespace

Result<std::vector<Chosen>> ResourceStore::State::selection_of(const Allocation& allocation) const {
  std::vector<Chosen> selection;
  selection.reserve(allocation.shares.size());
  for (const Share& share : allocation.shares) {
    const auto v = graph.find_uniq(share.uniq_id);
    if (!v)
      return fail(Errc::not_found,
                  "no vertex with uniq_id " + std::to_string(share.uniq_id) + " is here");
    if (share.amount < 0 || share.amount > graph[*v].size)
      return fail(Errc::overcommitted, std::to_string(share.amount) + " units of " +
                                           graph.path(*v) + ", which has " +
                                           std::to_string(graph[*v].size));
    Chosen chosen;
    chosen.vertex = *v;
    chosen.units = share.amount;
    chosen.exclusive = share.exclusive;
    if (!allocation.links.empty()) chosen.via = via(allocation, share.uniq_id);
    selection.push_back(chosen);
  }
  const auto before = [&](const Chosen& a, const Chosen& b) {  // post-order
    const auto end_a = graph.subtree_end(a.vertex), end_b = graph.subtree_end(b.vertex);
    return end_a != end_b ? end_a < end_b : graph.pre(a.vertex) > graph.pre(b.vertex);
  };
  std::sort(selection.begin(), selection.end(), before);
  const auto same = [](const Chosen& a, const Chosen& b) { return a.vertex == b.vertex; };
  if (std::adjacent_find(selection.begin(), selection.end(), same) != selection.end())
    return fail(Errc::invalid_argument, "a vertex is listed twice");
  const std::size_t listed = selection.size();
  std::set<VertexId> listed_or_added;
  for (const Chosen& chosen : selection) listed_or_added.insert(chosen.vertex);
  for (std::size_t i = 0; i < listed; ++i)
    for (VertexId up = above(graph, selection[i]);
         up != kNoVertex && listed_or_added.insert(up).second;) {
      Chosen passed;
      passed.vertex = up;
      if (!allocation.links.empty()) passed.via = via(allocation, graph[up].uniq_id);
      selection.push_back(passed);
      up = above(graph, passed);
    }
  if (selection.size() != listed) std::sort(selection.begin(), selection.end(), before);
  if (!allocation.links.empty()) selection = in_linked_order(graph, selection);
  mark_whole(selection);
  return selection;
}

// Marks as whole an exclusive vertex with everything below it taken in full: one entry stands for
// all of it. Selections of a search and imposed ones are marked alike, so that the books do not
// depend on the way an allocation came.
void ResourceStore::State::mark_whole(std::vector<Chosen>& selection) const {
  std::vector<std::size_t> open;  // positions whose parent is still to come
  std::vector<std::uint32_t>
      full;  // of each open one: vertices at and below it that are fully taken
  for (std::size_t i = 0; i < selection.size(); ++i) {
    Chosen& chosen = selection[i];
    const VertexId v = chosen.vertex;
    std::uint32_t below = 0;
    while (!open.empty() && graph.within(selection[open.back()].vertex, v)) {
      below += full.back();
      open.pop_back();
      full.pop_back();
    }
    const bool taken = chosen.exclusive && chosen.units == graph[v].size;
    chosen.whole = taken && below + 1 == graph.subtree_end(v) - graph.pre(v) && !graph.has_links();
    chosen.implied = false;
    open.push_back(i);
    full.push_back(below + (taken ? 1 : 0));
  }
  std::uint32_t covered_from =
      UINT32_MAX;  // positions from here on, up to a whole vertex's end, are below it
  for (std::size_t i = selection.size(); i-- > 0;) {
    const std::uint32_t pre = graph.pre(selection[i].vertex);
    if (pre > covered_from && covered_from != UINT32_MAX &&
        graph.within(selection[i].vertex, graph.at(covered_from))) {
      selection[i].implied = true;
    } else if (selection[i].whole) {
      covered_from = pre;
    }
  }
}

Status ResourceStore::State::check_free(std::span<const Chosen> selection, Interval when) const {
  for (const Chosen& chosen : selection) {
    if (chosen.implied) continue;
    const VertexId v = chosen.vertex;
    const Amount free = occupancy.free(graph, v, when);
    const bool enough = chosen.units > 0 ? free >= chosen.units : free > 0;
    // In Fluxion other jobs may hold an exclusive node too, if only some cores are listed.
    const bool alone =
        chosen.whole || (chosen.exclusive && chosen.units == graph[v].size && !options.as_fluxion);
    if (!enough || (alone && !occupancy.idle(v, when)))
      return fail(Errc::overcommitted, graph.path(v) + " is held by another job then");
  }
  return {};
}

Status ResourceStore::State::impose(const Holding& holding, Time now) {
  const Allocation& allocation = holding.allocation;
  if (held.contains(allocation.job))
    return fail(Errc::exists,
                "job " + std::to_string(allocation.job.value()) + " holds resources already");
  if (allocation.when.empty() || holding.held.empty())
    return fail(Errc::invalid_argument, "an allocation must end after it begins");
  const auto selection = selection_of(allocation);
  if (!selection) return tl::unexpected(selection.error());
  if (auto ok = check_free(*selection, holding.held); !ok) return ok;
  Allocation over_held = allocation;
  over_held.when = holding.held;
  take(std::move(over_held), *selection, holding.reserved);
  held.at(allocation.job).edit().allocation.when = allocation.when;
  touch(*selection, holding.held, now, holding.allocation.job == kQuestion);
  return {};
}

Status ResourceStore::update(const Allocation& allocation) {
  return update(allocation, allocation.when.begin);
}

Status ResourceStore::update(const Allocation& allocation, Time now) {
  return state_->impose({allocation, allocation.when, allocation.when.begin > now}, now);
}

Status ResourceStore::update(const Holding& holding) {
  return state_->impose(holding, holding.held.begin);
}

Status ResourceStore::release(JobId job) {
  State& state = *state_;
  const auto at = state.held.find(job);
  if (at == state.held.end())
    return fail(Errc::not_found, "job " + std::to_string(job.value()) + " holds nothing");
  const TraversalCounts counts = state.walk_of(*at->second);
  state.drop(job);
  state.counts = counts;
  return {};
}

Result<bool> ResourceStore::release_part(JobId job, std::span<const VertexId> vertices) {
  State& state = *state_;
  const auto at = state.held.find(job);
  if (at == state.held.end())
    return fail(Errc::not_found, "job " + std::to_string(job.value()) + " holds nothing");
  std::vector<std::uint32_t>
      gone;  // positions that are not kept, as a bit a position would be O(V)
  for (const VertexId v : vertices)
    for (const VertexId below : state.graph.subtree(v)) gone.push_back(state.graph.pre(below));
  std::sort(gone.begin(), gone.end());
  std::vector<Share> kept;
  for (const Share& share : at->second->allocation.shares) {
    const auto v = state.graph.find_uniq(share.uniq_id);
    if (share.amount > 0 && v && !std::binary_search(gone.begin(), gone.end(), state.graph.pre(*v)))
      kept.push_back(share);
  }
  if (kept.empty()) {
    state.drop(job);
    return true;
  }
  // vertices that were only passed through come back as ancestors of what is kept
  state.exchange(job, std::move(kept), at->second->hold.when.begin);
  return false;
}

Status ResourceStore::set_end(JobId job, Time end) {
  const auto at = state_->held.find(job);
  if (at == state_->held.end())
    return fail(Errc::not_found, "job " + std::to_string(job.value()) + " holds nothing");
  State::Held& mine = at->second.edit();
  const Interval now = mine.hold.when;
  if (end <= now.begin)
    return fail(Errc::invalid_argument, "an allocation must end after it begins");
  if (end > now.end) {
    const auto selection = state_->selection_of(mine.allocation);
    if (!selection) return tl::unexpected(selection.error());
    if (auto ok = state_->check_free(*selection, {now.end, end}); !ok) return ok;
  }
  if (state_->ends.erase({now.end, job}) != 0) state_->ends.emplace(end, job);
  state_->occupancy.move_end(mine.hold, end);
  for (const match::Hold::Item& item : mine.hold.items)
    state_->changes.add(item.vertex, item.whole);
  if (end < now.end) state_->made_room();
  mine.allocation.when.end = end;
  return {};
}

}  // namespace holon::resource
