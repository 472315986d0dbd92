#include "instance/agents/away_nodes.hpp"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/hostlist.hpp"
#include "instance/basics/text.hpp"
#include "resource/graph/graph.hpp"

namespace holon::instance {
namespace {

constexpr Time kNotYet = 0;  // since when an agent is away that has not come yet

// The host of an agent of which this broker has not heard.
constexpr const char* kNotHeardYet = "";

// The vertices of these nodes.
std::vector<resource::VertexId> vertices_of(const resource::ResourceGraph& graph,
                                            const std::vector<std::int32_t>& ranks) {
  const std::set<std::int32_t> own(ranks.begin(), ranks.end());
  std::vector<resource::VertexId> nodes;
  for (const resource::VertexId node : graph.by_type("node"))
    if (own.contains(graph[node].rank)) nodes.push_back(node);
  return nodes;
}

// How long an agent may be away until its tasks are given up.
Duration patience_for(std::uint32_t rank, const AwayNodes::Patience& patience) {
  return rank == 0 ? patience.given_up : patience.given_up_of_others;
}

}  // namespace

AwayNodes::AwayNodes(Journal& journal, resource::ResourceStore& store, JobManager& jobs,
                     const NodesOfAgents& nodes_of_agents, InstanceClock& clock, Patience patience)
    : journal_(journal),
      store_(store),
      jobs_(jobs),
      nodes_of_agents_(nodes_of_agents),
      clock_(clock),
      patience_(patience) {}

Status AwayNodes::restore(Time now) {
  const auto kept = journal_.offline();
  if (!kept) return tl::unexpected(kept.error());
  const auto& ranks = nodes_of_agents_.agents();
  for (const OfflineAgent& agent : *kept) {
    if (std::find(ranks.begin(), ranks.end(), agent.rank) == ranks.end()) continue;
    offline_[agent.rank] = agent;
    set_up(agent.rank, false);
  }
  for (const std::uint32_t rank : ranks) away_[rank] = {now, kNotHeardYet};
  return {};
}

void AwayNodes::agent_came(std::uint32_t rank) {
  away_.erase(rank);
  if (offline_.erase(rank) == 0) return;
  journal_.remove_offline(rank);
  set_up(rank, true);
}

void AwayNodes::agent_left(std::uint32_t rank, const std::string& host, Time now) {
  away_.try_emplace(rank, Away{now, host});
}

void AwayNodes::agent_is_awaited(std::uint32_t rank, const std::string& host, Time now) {
  const Away& how = away_[rank] = {now, host};
  if (!offline_.contains(rank)) close(rank, how);
}

void AwayNodes::agent_is_started(std::uint32_t rank, const std::string& host, Time now) {
  away_[rank] = {now, host};
  offline_[rank] = {rank, host, kNotYet};
  journal_.put_offline(offline_[rank]);
  set_up(rank, false);
}

bool AwayNodes::is_coming(std::uint32_t rank, Time since) const {
  const auto known = offline_.find(rank);
  if (known == offline_.end() || known->second.since != kNotYet) return false;
  const auto away = away_.find(rank);
  return away == away_.end() || away->second.since >= since;
}

bool AwayNodes::is_lost(std::uint32_t rank) const {
  const auto away = away_.find(rank);
  return away != away_.end() && (away->second.host != kNotHeardYet || offline_.contains(rank));
}

void AwayNodes::forget(std::uint32_t rank) {
  away_.erase(rank);
  if (offline_.erase(rank) != 0) journal_.remove_offline(rank);
}

std::optional<Time> AwayNodes::turn(Time now) {
  std::optional<Time> next;
  const auto is_due = [&](Time since, Duration patience) {
    const Time due = saturating_add(since, patience);
    if (due > now) next = next ? std::min(*next, due) : due;
    return due <= now;
  };
  for (auto& [rank, how] : away_) {
    if (!offline_.contains(rank) && is_due(how.since, patience_.down)) {
      if (has_left(rank)) continue;
      take_down(rank, how);
    }
    const Duration given_up = patience_for(rank, patience_);
    if (how.is_given_up || given_up == 0 || !is_due(how.since, given_up)) continue;
    how.is_given_up = true;
    // Tasks of a node that is given up may still run: no job gets its cores.
    if (const auto known = offline_.find(rank); known == offline_.end())
      take_down(rank, how);
    else if (known->second.since == kNotYet)
      close(rank, how);
    on_given_up(rank);
  }
  return next;
}

void AwayNodes::close(std::uint32_t rank, const Away& how) {
  offline_[rank] = {rank, how.host, clock_.wall(how.since)};
  journal_.put_offline(offline_[rank]);
  set_up(rank, false);
}

void AwayNodes::take_down(std::uint32_t rank, const Away& how) {
  close(rank, how);
  const Duration patience = how.is_given_up ? patience_for(rank, patience_) : patience_.down;
  spdlog::warn(fmt::format("the agent of rank {} has been away for {}: its nodes are down", rank,
                           duration_text(patience)));
}

void AwayNodes::set_up(std::uint32_t rank, bool up) {
  const auto nodes = vertices_of(store_.graph(), nodes_of_agents_.nodes_of(rank));
  for (const resource::VertexId node : nodes) store_.set_status(node, up);
  if (!nodes.empty()) jobs_.resources_changed();
}

std::string AwayNodes::reasons() const {
  std::string text;
  for (const auto& [rank, agent] : offline_) {
    Hostlist hosts;
    for (const auto node : vertices_of(store_.graph(), nodes_of_agents_.nodes_of(rank)))
      hosts.append(store_.graph().name(node));
    if (hosts.empty()) continue;
    text += fmt::format("{}{}: ", text.empty() ? "" : "; ", hosts.str());
    text += agent.since == kNotYet ? "it is not here yet, its agent is being started"
                                   : "its agent has been away since " +
                                         time_text(agent.since, clock_.wall(clock_.now()));
  }
  return text;
}

}  // namespace holon::instance
