#include "instance/grants/need.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "instance/request/placement.hpp"
#include "instance/resources/more_nodes.hpp"
#include "resource/graph/graph.hpp"
#include "resource/jobspec/jobspec.hpp"

namespace holon::instance {
namespace {

constexpr std::int64_t kWaitingLookedAt = 4'096;  // of waiting jobs
// Short jobs follow each other: what they share is asked for once, and goes back when it is idle.
constexpr Duration kShortestAsk = 600'000;  // ms
// A job begins later than the grant does that it is to end within, or waits for another one first.
constexpr Duration kSlack = 60'000;          // ms
constexpr std::int64_t kFirstNew = 1 << 30;  // the logical number of a core that does not exist

// A core of each node that takes work and may get more: not of those that came whole.
std::vector<resource::VertexId> core_of_each_node(const resource::ResourceGraph& graph,
                                                  const GrantedNodes& granted) {
  std::vector<resource::VertexId> cores;
  for (const auto node : graph.by_type("node")) {
    if (!graph[node].schedulable() || granted.has(graph[node].rank)) continue;
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
resource::GraphSpec made_up_cores(const resource::ResourceGraph& graph, const GrantedNodes& granted,
                                  std::int64_t count) {
  resource::GraphSpec spec;
  std::map<resource::VertexId, std::uint32_t> rows;
  const auto beside = core_of_each_node(graph, granted);
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

std::string jobspec_for_nodes(const Need& need, bool by_itself) {
  resource::JobShape shape;
  shape.command = {"grant"};
  shape.nodes = shape.tasks = need.nodes;
  shape.exclusive = true;
  shape.duration_seconds = static_cast<double>(need.limit) / 1'000;
  shape.cwd = "/";
  std::string text = resource::write_jobspec(*resource::jobspec_for(shape));
  if (!by_itself && need.most_cores == 0) return text;
  auto spec = nlohmann::json::parse(text);
  auto& wishes = spec["attributes"]["system"]["holon"];
  if (by_itself) wishes["by_itself"] = true;
  if (need.most_cores > 0) wishes["most_cores"] = need.most_cores;
  return spec.dump();
}

// The fewest that are `enough`; more are, too.
template <class Enough>
std::int64_t fewest_of(std::int64_t most, const Enough& enough) {
  std::int64_t fewest = 1;
  while (fewest < most) {
    const std::int64_t middle = fewest + (most - fewest) / 2;
    if (enough(middle))
      most = middle;
    else
      fewest = middle + 1;
  }
  return fewest;
}

}  // namespace

std::string jobspec_of_ask(const Need& need, bool by_itself) {
  if (need.nodes > 0) return jobspec_for_nodes(need, by_itself);
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
  const auto part = made_up_cores(store_.graph(), granted_, cores);
  if (part.rows.empty()) return {};
  return scheduler_.starts_on(part, kTimeMax, now, {.jobs = kWaitingLookedAt}).value_or(Starts());
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

bool Needs::is_wished(const std::set<JobId>& jobs) const {
  return std::any_of(jobs.begin(), jobs.end(), [&](JobId id) {
    const ActiveJob* const job = jobs_.find(id);
    return job != nullptr && is_asked_by_hand(*job);
  });
}

Need Needs::of_all(std::int64_t room, Time now) const {
  if (scheduler_.pending() == 0) return {};
  const Starts starts = with(room, now);
  const std::set<JobId> jobs = jobs_in(starts);
  if (jobs.empty()) return {};
  Need need;
  const auto started = [&](std::int64_t cores) { return jobs_in(with(cores, now)); };
  need.most = fewest_of(room, [&](auto cores) { return started(cores).size() >= jobs.size(); });
  need.least = fewest_of(need.most, [&](auto cores) { return !started(cores).empty(); });
  need.limit = limit_of(jobs);
  need.is_wished = is_wished(jobs);
  // Which nodes are full above is not known here: naming the one that was tried may name that.
  const auto may_be_on_any = [&](JobId id) {
    const ActiveJob* const job = jobs_.find(id);
    return job == nullptr || may_be_anywhere(*job);
  };
  if (!std::all_of(jobs.begin(), jobs.end(), may_be_on_any))
    need.hosts = hosts_in(starts, [](JobId) { return true; });
  return need;
}

Need Needs::of_job(JobId job, std::int64_t room, Time now) const {
  if (!jobs_in(with(room, now)).contains(job)) return {};
  Need need;
  need.most =
      fewest_of(room, [&](std::int64_t cores) { return jobs_in(with(cores, now)).contains(job); });
  need.least = need.most;
  need.limit = limit_of({job});
  need.hosts = hosts_in(with(need.most, now), [&](JobId id) { return id == job; });
  return need;
}

template <class Enough>
Need Needs::on_nodes(std::int64_t room, Time now, const Enough& enough) const {
  const auto node = nodes_.node();
  const std::int64_t each = node ? cores_in(*node) : 0;
  const std::int64_t most = each == 0 ? 0 : std::min(room / each, kMostNodesAtOnce);
  if (most < 1 || scheduler_.pending() == 0) return {};
  const auto started = [&](std::int64_t nodes) {
    const auto part = many_like(*node, static_cast<std::uint32_t>(nodes));
    return jobs_in(
        scheduler_.starts_on(part, kTimeMax, now, {.jobs = kWaitingLookedAt}).value_or(Starts()));
  };
  if (!enough(started(most))) return {};
  Need need;
  need.nodes = fewest_of(most, [&](std::int64_t nodes) { return enough(started(nodes)); });
  need.least = need.most = need.nodes * each;
  need.most_cores = room;
  const auto jobs = started(need.nodes);
  need.limit = limit_of(jobs);
  need.is_wished = is_wished(jobs);
  return need;
}

Need Needs::of_one_on_nodes(std::int64_t room, Time now) const {
  return on_nodes(room, now, [](const std::set<JobId>& started) { return !started.empty(); });
}

Need Needs::of_job_on_nodes(JobId job, std::int64_t room, Time now) const {
  Need need =
      on_nodes(room, now, [job](const std::set<JobId>& started) { return started.contains(job); });
  if (need.nodes > 0) need.limit = limit_of({job});
  return need;
}

}  // namespace holon::instance
