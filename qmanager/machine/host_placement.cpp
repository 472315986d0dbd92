#include "qmanager/machine/host_placement.hpp"

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

// The parts of each slot of the job.
struct SlotNeed {
  std::int64_t cores = 1;
  std::vector<std::pair<resource::TypeId, resource::Amount>> rest;  // memory, GPUs
};

std::optional<SlotNeed> need_of(const ResourceGraph& graph, const JobRequest& job) {
  SlotNeed need;
  for (const resource::Request& part : job.spec->resources.front().with) {
    const auto type = graph.words().types.find(part.type);
    if (!type) return std::nullopt;
    if (part.type == "core")
      need.cores = part.count.min;
    else
      need.rest.emplace_back(*type, part.count.min);
  }
  return need;
}

// A host and what is free of it, in the order of the graph.
struct Host {
  VertexId node;
  std::vector<VertexId> cores;
  std::map<resource::TypeId, std::vector<std::pair<VertexId, resource::Amount>>> rest{};

  resource::Amount units_of(resource::TypeId type) const {
    resource::Amount units = 0;
    if (const auto found = rest.find(type); found != rest.end())
      for (const auto& [v, free] : found->second) units += free;
    return units;
  }
  // Slots it has room for.
  std::int64_t slots(const SlotNeed& need) const {
    std::int64_t slots = static_cast<std::int64_t>(cores.size()) / need.cores;
    for (const auto& [type, amount] : need.rest) slots = std::min(slots, units_of(type) / amount);
    return slots;
  }
};

bool is_wanted(const SlotNeed& need, resource::TypeId type) {
  return std::any_of(need.rest.begin(), need.rest.end(),
                     [&](const auto& part) { return part.first == type; });
}

std::vector<Host> free_hosts(const resource::ResourceStore& store, const JobRequest& job,
                             const SlotNeed& need, Interval when) {
  const ResourceGraph& graph = store.graph();
  const auto node = graph.words().types.find("node");
  const auto core = graph.words().types.find("core");
  // Constraints that cannot be read were refused when the job came.
  const auto test = resource::match::NodeTest::compile(job.spec->constraints, graph);
  std::vector<Host> hosts;
  if (!node || !core || !test) return hosts;
  std::vector<Share> free = store.available(when);
  std::reverse(free.begin(), free.end());  // parents before children
  for (const Share& share : free) {
    const auto v = graph.find_uniq(share.uniq_id);
    if (!v) continue;
    const resource::TypeId type = graph[*v].type;
    if (type == *node) hosts.push_back({*v, {}});
    if (hosts.empty() || type == *node || !graph.within(*v, hosts.back().node)) continue;
    if (type == *core) hosts.back().cores.push_back(*v);
    if (is_wanted(need, type) && share.amount > 0)
      hosts.back().rest[type].emplace_back(*v, share.amount);
  }
  std::erase_if(hosts, [&](const Host& host) { return !test->passes(graph, host.node); });
  return hosts;
}

// The vertex and everything above it is up.
bool is_up(const ResourceGraph& graph, VertexId v) {
  for (; v != resource::kNoVertex; v = graph.parent(v))
    if (!graph[v].schedulable()) return false;
  return true;
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

// Puts a host that may be the job's first in front; where all slots go to one host, drops the
// others. False: there is none.
template <class Room, class MayBeFirst>
bool put_first(std::vector<Host>& hosts, const JobRequest& job, Room room,
               MayBeFirst may_be_first) {
  if (job.rule.kind == AllocationRule::Kind::one_host) {
    std::erase_if(hosts, [&](const Host& host) { return !may_be_first(host); });
    return !hosts.empty();
  }
  const std::int64_t least =
      job.rule.kind == AllocationRule::Kind::per_host ? job.rule.slots : std::int64_t{1};
  const auto first = std::find_if(hosts.begin(), hosts.end(), [&](const Host& host) {
    return room(host) >= least && may_be_first(host);
  });
  if (first == hosts.end()) return false;
  std::rotate(hosts.begin(), first, first + 1);
  return true;
}

using Taken = std::map<VertexId, resource::Amount>;

// Takes `slots` slots of the host.
void take(const Host& host, const SlotNeed& need, std::int64_t slots, const ResourceGraph& graph,
          Taken& taken) {
  for (std::int64_t i = 0; i < slots * need.cores; ++i)
    taken[host.cores[static_cast<std::size_t>(i)]] =
        graph[host.cores[static_cast<std::size_t>(i)]].size;
  for (const auto& [type, amount] : need.rest) {
    resource::Amount missing = slots * amount;
    for (const auto& [v, free] : host.rest.at(type)) {
      const resource::Amount here = std::min(free, missing);
      if (here > 0) taken[v] += here;
      missing -= here;
    }
  }
}

// The shares of what is taken and of what is passed through on the way to it, in the order of a
// match: children before their parents.
std::vector<Share> shares_of(const ResourceGraph& graph, const Taken& taken) {
  std::set<VertexId> passed;
  std::vector<VertexId> all;
  for (const auto& [v, amount] : taken) {
    all.push_back(v);
    for (VertexId up = graph.parent(v); up != resource::kNoVertex && passed.insert(up).second;)
      up = graph.parent(up);
  }
  all.insert(all.end(), passed.begin(), passed.end());
  std::sort(all.begin(), all.end(), [&](VertexId a, VertexId b) {
    const auto end_a = graph.subtree_end(a);
    const auto end_b = graph.subtree_end(b);
    return end_a != end_b ? end_a < end_b : graph.pre(a) > graph.pre(b);
  });
  std::vector<Share> shares;
  for (const VertexId v : all) {
    const auto mine = taken.find(v);
    const resource::Amount amount = mine == taken.end() ? 0 : mine->second;
    shares.push_back({graph[v].uniq_id, amount, amount > 0 && amount == graph[v].size});
  }
  return shares;
}

}  // namespace

bool spread_over_hosts(const JobRequest& job) {
  return job.rule.kind != AllocationRule::Kind::any;
}

bool is_plain(const JobRequest& job) {
  return !job.slots && !spread_over_hosts(job) && job.on_hosts.empty();
}

std::int64_t slots_a_node(const resource::Jobspec& spec) {
  if (spec.resources.empty()) return 1;
  const resource::Request& top = spec.resources.front();
  if (top.type != "node" || top.with.empty() || top.with.front().type != "slot") return 1;
  return top.with.front().count.min;
}

std::string not_on_hosts(const JobRequest& job) {
  return spread_over_hosts(job)
             ? "its slots do not fit on the hosts as its parallel environment wants"
             : "no host has room for its slots beside what its queue gives of consumables";
}

Status check_host_placement(const JobRequest& job) {
  const auto refuse = [] {
    return fail(Errc::invalid_argument,
                "slots that are spread over hosts are of cores, and of memory, GPUs and the like "
                "beside them: the jobspec is to be one slot with these and nothing else",
                "environment");
  };
  if (!job.spec) return {};
  if (job.spec->resources.size() != 1) return refuse();
  const resource::Request& slot = job.spec->resources.front();
  if (slot.type != "slot") return refuse();
  std::set<std::string> types;
  for (const resource::Request& part : slot.with) {
    const bool fixed = part.count.min == part.count.max && part.count.values.empty();
    const bool known = part.type != "slot" && part.type != "xor_slot" && part.type != "node";
    if (!known || !part.with.empty() || !fixed || !types.insert(part.type).second) return refuse();
  }
  return types.contains("core") ? Status() : refuse();
}

bool could_be_spread(const resource::ResourceStore& store, const HostPools& pools,
                     const JobRequest& job, bool only_up) {
  const ResourceGraph& graph = store.graph();
  const auto node = graph.words().types.find("node");
  const auto core = graph.words().types.find("core");
  const auto test = resource::match::NodeTest::compile(job.spec->constraints, graph);
  const auto need = need_of(graph, job);
  if (!node || !core || !test || !need) return false;
  std::map<VertexId, Host> hosts;
  const auto add = [&](resource::TypeId type) {
    for (const VertexId v : graph.by_type(type)) {
      const VertexId host = graph.ancestor_of_type(v, *node);
      if (host == resource::kNoVertex || !test->passes(graph, host)) continue;
      if (only_up && !is_up(graph, v)) continue;
      Host& here = hosts.try_emplace(host, Host{host, {}}).first->second;
      if (type == *core)
        here.cores.push_back(v);
      else
        here.rest[type].emplace_back(v, graph[v].size);
    }
  };
  add(*core);
  for (const auto& [type, amount] : need->rest) add(type);
  std::vector<std::int64_t> slots;
  for (const auto& [v, host] : hosts)
    slots.push_back(std::min(host.slots(*need), pools.slots_at_most(job.on_hosts)));
  return count_for(job, slots) > 0;
}

std::optional<HostPlacement> place_on_hosts(const resource::ResourceStore& store,
                                            const HostPools& pools, const JobRequest& job,
                                            Interval when) {
  const ResourceGraph& graph = store.graph();
  const auto need = need_of(graph, job);
  if (!need) return std::nullopt;
  std::vector<Host> hosts = free_hosts(store, job, *need, when);
  const auto room = [&](const Host& host) {
    return std::min(host.slots(*need), pools.slots_on(graph.name(host.node), job.on_hosts, when));
  };
  if (!put_first(hosts, job, room, [&](const Host& host) {
        return pools.may_be_first(graph.name(host.node), job.on_hosts, when);
      }))
    return std::nullopt;
  std::vector<std::int64_t> free;
  for (const Host& host : hosts) free.push_back(room(host));
  const std::int64_t count = count_for(job, free);
  if (count == 0) return std::nullopt;
  const std::vector<std::int64_t> given = *spread(job.rule, count, free);

  HostPlacement placed;
  Taken taken;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (given[i] == 0) continue;
    take(hosts[i], *need, given[i], graph, taken);
    placed.slots.emplace_back(graph.name(hosts[i].node), given[i]);
  }
  placed.allocation = {job.id, when, shares_of(graph, taken), {}};
  return placed;
}

HostSlots slots_by_host(const ResourceGraph& graph, const resource::Allocation& allocation,
                        std::int64_t slots) {
  const auto node = graph.words().types.find("node");
  const auto core = graph.words().types.find("core");
  if (!node || !core) return {};
  std::map<VertexId, std::set<VertexId>> cores;
  std::size_t all = 0;
  const auto add = [&](VertexId v) {
    const VertexId host =
        graph[v].type == *core ? graph.ancestor_of_type(v, *node) : resource::kNoVertex;
    if (host != resource::kNoVertex) all += cores[host].insert(v).second;
  };
  for (const Share& share : allocation.shares) {
    const auto v = graph.find_uniq(share.uniq_id);
    if (!v || (share.amount == 0 && !share.exclusive)) continue;
    add(*v);
    if (share.exclusive)
      for (const VertexId below : graph.subtree(*v)) add(below);
  }
  HostSlots by_host;
  for (const auto& [host, held] : cores) {
    const auto part =
        static_cast<std::int64_t>((held.size() * static_cast<std::size_t>(slots) + all - 1) / all);
    by_host.emplace_back(graph.name(host), part);
  }
  return by_host;
}

}  // namespace holon::qmanager
