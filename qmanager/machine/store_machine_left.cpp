// store_machine_left.cpp - the part of the graph that no job holds: what an overrunning job may
// keep of its units, and until when cores are free.
#include <algorithm>
#include <map>
#include <set>

#include "qmanager/machine/store_machine.hpp"
#include "resource/graph/graph.hpp"

namespace holon::qmanager {

using resource::Allocation;

// A vertex above one that others hold is shared from now on: it is passed through only.
Units StoreMachine::hold_what_is_left(JobId job, const Units& units, Interval when, Time now) {
  leave_uniform();
  const resource::ResourceGraph& graph = store_->graph();
  std::unordered_map<std::int64_t, resource::Amount> free;
  for (const resource::Share& share : store_->available(Interval{now, when.end}))
    free.emplace(share.uniq_id, share.amount);
  Units rest{{job, when, {}, {}},
             host_pools_.edit().hold_what_is_left(job, units.pools, {now, when.end})};
  Allocation mine{job, when, {}, units.allocation.labels};
  std::set<std::int64_t> shared;
  for (resource::Share share : units.allocation.shares) {
    const auto here = free.find(share.uniq_id);
    const resource::Amount left = std::min(share.amount, here == free.end() ? 0 : here->second);
    if (left < share.amount) {
      rest.allocation.shares.push_back({share.uniq_id, share.amount - left, false});
      const auto v = graph.find_uniq(share.uniq_id);
      for (auto up = v ? graph.parent(*v) : resource::kNoVertex; up != resource::kNoVertex;
           up = graph.parent(up))
        shared.insert(graph[up].uniq_id);
      share.exclusive = false;
    }
    share.amount = left;
    if (left > 0) mine.shares.push_back(share);
  }
  std::erase_if(mine.shares, [&](const resource::Share& s) { return shared.contains(s.uniq_id); });
  if (mine.shares.empty()) return rest;
  free_at_ = -1;
  if (!store_.edit().update(resource::Holding{mine, {now, when.end}, false})) return units;
  static_cast<void>(holds(std::move(mine)));
  return rest;
}

// Every core that is free now, until the first reservation that holds it.
std::vector<Window> StoreMachine::windows(Time now) const {
  if (uniform_) return uniform_->windows(now);
  const resource::ResourceGraph& graph = store_->graph();
  const auto core = graph.words().types.find("core");
  std::unordered_map<std::int64_t, Time> free_until;  // by uniq_id
  for (const resource::Share& share : store_->available(now)) {
    const auto v = graph.find_uniq(share.uniq_id);
    if (v && core && graph[*v].type == *core && share.amount > 0)
      free_until.emplace(share.uniq_id, kTimeMax);
  }
  const auto reserved = [&](resource::VertexId v, Time from) {
    const auto known = free_until.find(graph[v].uniq_id);
    if (known != free_until.end()) known->second = std::min(known->second, from);
  };
  for (const resource::VertexId node : graph.by_type("node"))
    if (graph[node].has_end)
      for (const resource::VertexId below : graph.subtree(node))
        reserved(below, graph.end_of(node));
  for (const auto& [id, end] : ends_->of) {
    const Allocation* held = store_->find(id);
    if (held == nullptr || held->when.begin <= now) continue;
    for (const resource::Share& share : held->shares) {
      const auto v = graph.find_uniq(share.uniq_id);
      if (!v) continue;
      reserved(*v, held->when.begin);
      if (!share.exclusive) continue;
      for (const resource::VertexId below : graph.subtree(*v)) reserved(below, held->when.begin);
    }
  }
  std::map<Time, std::int64_t> cores;  // by the time until which they are free
  for (const auto& [uniq, until] : free_until) ++cores[until];
  std::vector<Window> all;
  auto left = static_cast<std::int64_t>(free_until.size());
  for (const auto& [until, n] : cores) {
    const bool open = until == kTimeMax && horizon().end == kTimeMax;
    all.push_back({left, open ? kTimeMax : std::min(until, horizon().end) - now});
    left -= n;
  }
  return all;
}

}  // namespace holon::qmanager
