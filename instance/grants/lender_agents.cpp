// lender_agents.cpp - the child's agents on the whole nodes of its grants: which of them are lost,
// and how they leave.
#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/hostlist.hpp"
#include "instance/grants/lender.hpp"
#include "resource/graph/graph.hpp"

namespace holon::instance {
namespace {

namespace h = holdings;

const event::GrantExtend* extra_of(const ActiveJob& child, JobId grant) {
  for (const event::GrantExtend& extra : child.life.extra)
    if (extra.grant == grant.value()) return &extra;
  return nullptr;
}

}  // namespace

// The agents of this instance on the whole nodes of a grant; none: it has no whole nodes.
std::vector<std::uint32_t> Lender::agents_for(const ActiveJob& grant) const {
  if (!grant.allocation) return {};
  const auto& graph = uses_.store.graph();
  std::vector<std::uint32_t> agents;
  for (const auto node : whole_nodes(graph, *grant.allocation))
    agents.push_back(uses_.nodes_of_agents.agent_of(graph[node].rank));
  std::sort(agents.begin(), agents.end());
  return agents;
}

// The whole nodes of a grant on which the child's agent runs no more, or could not be started.
std::vector<resource::VertexId> Lender::nodes_with_lost_agents(const ActiveJob& grant) const {
  const ActiveJob* const job = uses_.jobs.find(grant.submission->wishes.grant_to);
  const auto* const extra = job == nullptr ? nullptr : extra_of(*job, grant.id);
  if (extra == nullptr || extra->ranks.empty()) return {};
  const auto& graph = uses_.store.graph();
  auto nodes = whole_nodes(graph, *grant.allocation);
  std::erase_if(nodes, [&](resource::VertexId node) {
    const Part* const part = part_of(job->life, uses_.nodes_of_agents.agent_of(graph[node].rank));
    return part == nullptr || !part->finished;
  });
  return nodes;
}

std::string Lender::what_was_lost(const ActiveJob& grant,
                                  const std::vector<resource::VertexId>& nodes) const {
  const auto& graph = uses_.store.graph();
  const ActiveJob* const job = uses_.jobs.find(grant.submission->wishes.grant_to);
  Hostlist ended, never;
  for (const auto node : nodes) {
    const Part* const part = part_of(job->life, uses_.nodes_of_agents.agent_of(graph[node].rank));
    (part->started ? ended : never).append(graph.name(node));
  }
  if (ended.empty()) return fmt::format("its agent on {} could not be started", never.str());
  return fmt::format("its agent on {} has ended", ended.str());
}

// All of the grant is wanted, what is on these nodes by force. What came with them goes as jobs
// end, for another reason: what is asked back for one reason goes back together. That is said
// first: a child asks its own children for the rest of a grant as hard as for what it has heard of
// (wanted_above), and would end what runs on the others if it heard of the force first.
std::vector<Lender::Wanted> Lender::from_nodes(const ActiveJob& grant,
                                               const std::vector<resource::VertexId>& nodes,
                                               Wanted by_force) const {
  const auto& graph = uses_.store.graph();
  const auto all = units_of(graph, *grant.allocation);
  if (!all || nodes.empty()) return {};
  h::Units there;
  Hostlist hosts;
  for (const auto node : nodes) {
    there = h::all_of(there, units_below(graph, node));
    hosts.append(graph.name(node));
  }
  std::vector<Wanted> wanted;
  if (h::Units rest = without(*all, there); !rest.empty())
    wanted.push_back({by_force.by, h::RecallMode::drain,
                      fmt::format("it came with {}", hosts.str()), std::move(rest)});
  by_force.units = std::move(there);
  wanted.push_back(std::move(by_force));
  return wanted;
}

// Ends the child's agents on these nodes, and says whether that is done. A turn that was missed is
// made up for: what is asked for is in the journal.
bool Lender::agents_have_left(JobId child, JobId grant, Time now) {
  const ActiveJob* job = uses_.jobs.find(child);
  const auto* const extra = job == nullptr ? nullptr : extra_of(*job, grant);
  if (extra == nullptr || extra->ranks.empty()) return true;
  const std::vector<std::uint32_t> ranks = extra->ranks;
  if (!part_of(job->life, ranks.front())->leaves)
    uses_.jobs.note_grant(child, event::GrantLeave{grant.value()}, now);
  uses_.agents.kill_tasks(*job);
  return std::all_of(ranks.begin(), ranks.end(),
                     [&](std::uint32_t rank) { return part_of(job->life, rank)->finished; });
}

// The same agents of this instance may be told to start the child's again.
void Lender::note_return(JobId child, JobId grant, Time now) {
  const ActiveJob* job = uses_.jobs.find(child);
  const auto* const extra = job == nullptr ? nullptr : extra_of(*job, grant);
  if (extra == nullptr) return;
  for (const std::uint32_t rank : extra->ranks)
    if (uses_.agents.has(rank)) uses_.agents.of(rank).forget(child);
  uses_.jobs.note_grant(child, event::GrantReturn{grant.value()}, now);
}

}  // namespace holon::instance
