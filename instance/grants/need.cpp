#include "instance/grants/need.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "instance/request/placement.hpp"
#include "resource/graph/graph.hpp"

namespace holon::instance {
namespace {

constexpr std::int64_t kWaitingLookedAt = 4'096;  // of waiting jobs
// Short jobs follow each other: what they share is asked for once, and goes back when it is idle.
constexpr Duration kShortestAsk = 600'000;  // ms
// A job begins later than the grant does that it is to end within, or waits for another one first.
constexpr Duration kSlack = 60'000;          // ms
constexpr std::int64_t kFirstNew = 1 << 30;  // the logical number of a core that does not exist

// A core of each node that takes work.
std::vector<resource::VertexId> core_of_each_node(const resource::ResourceGraph& graph) {
  std::vector<resource::VertexId> cores;
  for (const auto node : graph.by_type("node")) {
    if (!graph[node].schedulable()) continue;
    const auto below = graph.subtree(node);
    const auto core = std::find_if(below.begin(), below.end(),
                                   [&](auto v) { return graph.type_name(v) == "core"; });
    if (core != below.end()) cores.push_back(*core);
  }
  return cores;
}

// Adds a vertex that is in the graph, below those above it. Returns its row.
std::uint32_t add_with_those_above(resource::GraphSpec& spec, const resource::ResourceGraph& graph,
                                   resource::VertexId v,
                                   std::map<resource::VertexId, std::uint32_t>& rows) {
  if (const auto known = rows.find(v); known != rows.end()) return known->second;
  const std::uint32_t parent = v == graph.root()
                                   ? resource::GraphSpec::kNone
                                   : add_with_those_above(spec, graph, graph.parent(v), rows);
  const std::uint32_t row =
      spec.add(graph.type_name(v), graph[v].id, parent, graph[v].rank, graph[v].size);
  spec.rows[row].name = spec.words.names.intern(graph.name(v));
  return rows[v] = row;
}

// So many cores that do not exist, dealt to the nodes of the graph in turn.
resource::GraphSpec made_up_cores(const resource::ResourceGraph& graph, std::int64_t count) {
  resource::GraphSpec spec;
  std::map<resource::VertexId, std::uint32_t> rows;
  const auto beside = core_of_each_node(graph);
  for (std::int64_t i = 0; i < count && !beside.empty(); ++i) {
    const auto core = beside[static_cast<std::size_t>(i) % beside.size()];
    const auto parent = add_with_those_above(spec, graph, graph.parent(core), rows);
    spec.add("core", kFirstNew + i, parent, graph[core].rank);
  }
  return spec;
}

std::set<JobId> jobs_in(const qmanager::Scheduler::StartsByHost& starts) {
  std::set<JobId> jobs;
  for (const auto& [host, on_it] : starts) jobs.insert(on_it.begin(), on_it.end());
  return jobs;
}

// The hosts on which jobs start that are `meant`.
template <class Meant>
std::string hosts_in(const qmanager::Scheduler::StartsByHost& starts, const Meant& meant) {
  std::vector<std::string> hosts;
  for (const auto& [host, on_it] : starts)
    if (std::any_of(on_it.begin(), on_it.end(), meant)) hosts.push_back(host);
  return fmt::format("{}", fmt::join(hosts, ","));
}

// Is any core as good for it as another?
bool may_be_anywhere(const ActiveJob& job) {
  const SlotShape shape = slot_shape(*job.submission);
  return shape.cores == 1 && shape.gpus == 0 && shape.on_each == 0 &&
         job.submission->spec->constraints.op.empty();
}

// What somebody below has asked for by hand.
bool is_asked_by_hand(const ActiveJob& job) {
  const auto& wishes = job.submission->wishes;
  return wishes.grant_to.value() != 0 && !wishes.by_itself;
}

}  // namespace

std::string jobspec_of_ask(const Need& need, bool by_itself) {
  nlohmann::json system = {{"duration", static_cast<double>(need.limit) / 1'000}};
  if (!need.hosts.empty()) system["constraints"] = {{"hostlist", {need.hosts}}};
  if (need.most > need.least)
    system["holon"]["slots"] = fmt::format("{}-{}", need.least, need.most);
  if (by_itself) system["holon"]["by_itself"] = true;
  const nlohmann::json core = {{"type", "core"}, {"count", 1}};
  const nlohmann::json slot = {
      {"type", "slot"}, {"count", need.least}, {"label", "task"}, {"with", {core}}};
  const nlohmann::json task = {
      {"command", {"grant"}}, {"slot", "task"}, {"count", {{"per_slot", 1}}}};
  return nlohmann::json{{"version", 1},
                        {"resources", {slot}},
                        {"tasks", {task}},
                        {"attributes", {{"system", system}}}}
      .dump();
}

Needs::Starts Needs::with(std::int64_t cores, Time now) const {
  const auto part = made_up_cores(store_.graph(), cores);
  if (part.rows.empty()) return {};
  return scheduler_.starts_on(part, kTimeMax, now, {.jobs = kWaitingLookedAt}).value_or(Starts());
}

// The fewest cores with which the jobs that start are `enough`, which holds for more cores, too.
template <class Enough>
std::int64_t Needs::fewest(std::int64_t most, Time now, const Enough& enough) const {
  std::int64_t fewest = 1;
  while (fewest < most) {
    const std::int64_t middle = fewest + (most - fewest) / 2;
    if (enough(jobs_in(with(middle, now))))
      most = middle;
    else
      fewest = middle + 1;
  }
  return fewest;
}

// The longest limit of the jobs, with what an ask adds; 0: one of them has none.
Duration Needs::limit_of(const std::set<JobId>& jobs) const {
  Duration longest = 0;
  for (const JobId id : jobs) {
    const ActiveJob* const job = jobs_.find(id);
    if (job == nullptr) continue;
    if (job->submission->limit == 0) return 0;  // to the end of this instance
    longest = std::max({longest, job->submission->limit + kSlack, kShortestAsk});
  }
  return longest;
}

Need Needs::of_all(std::int64_t room, Time now) const {
  if (scheduler_.pending() == 0) return {};
  const Starts starts = with(room, now);
  const std::set<JobId> jobs = jobs_in(starts);
  if (jobs.empty()) return {};
  Need need;
  need.most = fewest(room, now, [&](const auto& started) { return started.size() >= jobs.size(); });
  need.least = fewest(need.most, now, [](const auto& started) { return !started.empty(); });
  need.limit = limit_of(jobs);
  const auto is_any = [&](const auto& is) {
    return std::any_of(jobs.begin(), jobs.end(), [&](JobId id) {
      const ActiveJob* const job = jobs_.find(id);
      return job != nullptr && is(*job);
    });
  };
  need.is_wished = is_any(is_asked_by_hand);
  // Which nodes are full above is not known here: naming the one that was tried may name that.
  if (is_any([](const ActiveJob& job) { return !may_be_anywhere(job); }))
    need.hosts = hosts_in(starts, [](JobId) { return true; });
  return need;
}

Need Needs::of_job(JobId job, std::int64_t room, Time now) const {
  if (!jobs_in(with(room, now)).contains(job)) return {};
  Need need;
  need.most = fewest(room, now, [&](const auto& started) { return started.contains(job); });
  need.least = need.most;
  need.limit = limit_of({job});
  need.hosts = hosts_in(with(need.most, now), [&](JobId id) { return id == job; });
  return need;
}

}  // namespace holon::instance
