#include "qmanager/host_placement.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "qmanager/slots.hpp"
#include "resource/match/constraint.hpp"

namespace holon::qmanager {

namespace {

using resource::ResourceGraph;
using resource::Share;
using resource::VertexId;

// A host and its free cores, in the order of the graph.
struct Host {
  VertexId node;
  std::vector<VertexId> cores;
};

std::vector<Host> free_hosts(const resource::ResourceStore& store,
                             const resource::Constraint& wanted, Interval when) {
  const ResourceGraph& graph = store.graph();
  const auto node = graph.words().types.find("node");
  const auto core = graph.words().types.find("core");
  // Constraints that cannot be read were refused when the job came.
  const auto test = resource::match::NodeTest::compile(wanted, graph);
  std::vector<Host> hosts;
  if (!node || !core || !test) return hosts;
  std::vector<Share> free = store.available(when);
  std::reverse(free.begin(), free.end());  // parents before children
  for (const Share& share : free) {
    const auto v = graph.find_uniq(share.uniq_id);
    if (!v) continue;
    if (graph[*v].type == *node) hosts.push_back({*v, {}});
    if (graph[*v].type == *core && !hosts.empty() && graph.within(*v, hosts.back().node))
      hosts.back().cores.push_back(*v);
  }
  std::erase_if(hosts, [&](const Host& host) { return !test->passes(graph, host.node); });
  return hosts;
}

// So is everything above it.
bool is_up(const ResourceGraph& graph, VertexId v) {
  for (; v != resource::kNoVertex; v = graph.parent(v))
    if (!graph[v].schedulable()) return false;
  return true;
}

std::int64_t cores_a_slot(const JobRequest& job) {
  return job.spec->resources.front().with.front().count.min;
}

// The largest count that suits the job and can be spread.
std::int64_t count_for(const JobRequest& job, const std::vector<std::int64_t>& free) {
  std::int64_t most = resource::kMaxCount;
  while (most > 0) {
    most = most_slots(job, most_that_spread(job.rule, most, free));
    if (spread(job.rule, most, free)) return most;
    --most;
  }
  return 0;
}

// The cores, with what is passed through on the way to them, in the order of a match: children
// before their parents.
std::vector<Share> shares_of(const ResourceGraph& graph, const std::vector<VertexId>& cores) {
  std::set<VertexId> passed;
  for (const VertexId core : cores)
    for (VertexId up = graph.parent(core); up != resource::kNoVertex && passed.insert(up).second;)
      up = graph.parent(up);
  std::vector<VertexId> all(cores);
  all.insert(all.end(), passed.begin(), passed.end());
  std::sort(all.begin(), all.end(), [&](VertexId a, VertexId b) {
    const auto end_a = graph.subtree_end(a);
    const auto end_b = graph.subtree_end(b);
    return end_a != end_b ? end_a < end_b : graph.pre(a) > graph.pre(b);
  });
  std::vector<Share> shares;
  for (const VertexId v : all) {
    const bool taken = !passed.contains(v);
    shares.push_back({graph[v].uniq_id, taken ? graph[v].size : 0, taken});
  }
  return shares;
}

}  // namespace

Status check_host_placement(const JobRequest& job) {
  const auto refuse = [] {
    return fail(Errc::invalid_argument,
                "a parallel environment spreads slots of cores: the jobspec is to be one slot with "
                "cores and nothing else",
                "environment");
  };
  if (!job.spec) return {};
  if (job.spec->resources.size() != 1) return refuse();
  const resource::Request& slot = job.spec->resources.front();
  if (slot.type != "slot" || slot.with.size() != 1) return refuse();
  const resource::Request& core = slot.with.front();
  const bool fixed = core.count.min == core.count.max && core.count.values.empty();
  if (core.type != "core" || !core.with.empty() || !fixed) return refuse();
  return {};
}

bool could_be_spread(const resource::ResourceStore& store, const JobRequest& job, bool only_up) {
  const ResourceGraph& graph = store.graph();
  const auto node = graph.words().types.find("node");
  const auto test = resource::match::NodeTest::compile(job.spec->constraints, graph);
  if (!node || !test) return false;
  std::map<VertexId, std::int64_t> cores;
  for (const VertexId core : graph.by_type("core")) {
    const VertexId host = graph.ancestor_of_type(core, *node);
    if (host == resource::kNoVertex || !test->passes(graph, host)) continue;
    if (!only_up || is_up(graph, core)) ++cores[host];
  }
  std::vector<std::int64_t> slots;
  for (const auto& [host, count] : cores) slots.push_back(count / cores_a_slot(job));
  return count_for(job, slots) > 0;
}

std::optional<resource::Allocation> place_on_hosts(const resource::ResourceStore& store,
                                                   const JobRequest& job, Interval when) {
  const ResourceGraph& graph = store.graph();
  const std::vector<Host> hosts = free_hosts(store, job.spec->constraints, when);
  const auto each = static_cast<std::size_t>(cores_a_slot(job));
  std::vector<std::int64_t> free;
  for (const Host& host : hosts)
    free.push_back(static_cast<std::int64_t>(host.cores.size() / each));
  const std::int64_t count = count_for(job, free);
  if (count == 0) return std::nullopt;
  const std::vector<std::int64_t> given = *spread(job.rule, count, free);

  std::vector<VertexId> cores;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const auto taken = static_cast<std::ptrdiff_t>(given[i] * static_cast<std::int64_t>(each));
    cores.insert(cores.end(), hosts[i].cores.begin(), hosts[i].cores.begin() + taken);
  }
  return resource::Allocation{job.id, when, shares_of(graph, cores), {}};
}

}  // namespace holon::qmanager
