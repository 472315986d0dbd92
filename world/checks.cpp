#include "world/checks.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include "instance/journal/record_order.hpp"
#include "resource/graph/graph.hpp"
#include "world/instance.hpp"
#include "world/machine.hpp"

namespace holon::world {
namespace {

std::pair<std::string, JobId> split_path(const std::string& path) {
  const auto cut = path.rfind('/');
  return {cut == 0 ? "/" : path.substr(0, cut),
          JobId(std::strtoull(path.c_str() + cut + 1, nullptr, 10))};
}

// May jobs get anything on the node of this host?
bool is_offered(const instance::Core& core, int host) {
  const auto& graph = core.store->graph();
  const auto nodes = graph.by_type("node");
  return std::any_of(nodes.begin(), nodes.end(), [&](const resource::VertexId node) {
    return graph[node].rank == host && graph[node].up;
  });
}

bool goes_back(const msg::JobRecord& from, const msg::JobRecord& to) {
  const bool same =
      from.state == to.state && from.result == to.result && from.exit_code == to.exit_code;
  return !same && (from.state == "INACTIVE" || !instance::supersedes(to, from));
}

}  // namespace

void Checks::what_runs(const std::vector<std::unique_ptr<Instance>>& instances) {
  for (const auto& instance : instances)
    if (instance->is_root() && !instance->over()) note_hosts(*instance);
  for (const auto& [pid, task] : machine_.tasks.live()) {
    const auto [above, id] = split_path(task->path);
    for (const auto& instance : instances) {
      const auto* core =
          instance->path() == above && !instance->over() ? instance->core() : nullptr;
      if (core == nullptr || core->only_lists()) continue;
      const auto* job = core->jobs.find(id);
      if (job == nullptr)
        cut_off(*task, *instance, *core, "its broker has no such job");
      else if (!job->life.holds_resources)
        cut_off(*task, *instance, *core, "what it uses is free for others");
      else if (job->life.place.cores < static_cast<std::int64_t>(task->cores.size()))
        return machine_.history.violation("{} uses more cores than it holds", task->path);
    }
  }
}

void Checks::cut_off(const Task& task, const Instance& instance, const instance::Core& core,
                     const std::string& what) {
  const bool is_far = instance.has_hosts() && task.host != instance.host();
  const auto rank = static_cast<std::uint32_t>(task.host);
  if (!is_far || is_offered(core, task.host))
    return machine_.history.violation("{} runs, and {}", task.path, what);
  constexpr Micros kRounded = 10 * kMs;  // a broker's times are whole milliseconds
  const Micros away = machine_.timeline.now() - connected_[rank];
  if (away < rejoin_timeout_ - kRounded)
    machine_.history.violation("{} is given up after {} ms, and still runs", task.path, away / kMs);
}

// The agent of a host that has been away for too long may have lost what it ran.
void Checks::note_hosts(const Instance& root) {
  const auto* core = root.core();
  if (core == nullptr || !root.has_hosts()) return;
  for (std::uint32_t rank = 1; rank < root.agents(); ++rank) {
    Micros& connected = connected_[rank];
    const AgentProcess* const agent = root.agent(rank);
    if (core->agents.is_connected(rank))
      connected = machine_.timeline.now();
    else if (agent != nullptr && machine_.timeline.now() - connected >= rejoin_timeout_)
      machine_.tasks.lose_agent(agent->pid());
  }
}

void Checks::plan_of(const Instance& instance) {
  const auto* core = instance.core();
  if (core == nullptr || core->only_lists()) return;
  if (!core->offline.none()) return;  // what is free there counts for nobody
  const Time now = instance.broker()->reactor().now();
  std::int64_t held = 0;
  for (const auto& [id, job] : core->jobs.active()) {
    if (!job.life.holds_resources) continue;
    if (!job.allocation || job.allocation->when.end <= now) return;  // it overruns
    held += job.life.place.cores;
  }
  for (const JobId id : core->store->jobs()) {
    const auto* job = core->jobs.find(id);
    if (job == nullptr)
      return machine_.history.violation("{}: the plan has a job {} that is not there",
                                        instance.path(), id.value());
    const auto span = core->store->holding(id);
    if (!job->life.holds_resources && span && span->held.begin <= now) return;  // about to start
  }
  const auto total = core->store->total("core");
  const auto free = core->store->available("core", now);
  if (held + free != total)
    machine_.history.violation("{}: its jobs hold {} cores, {} of {} are free", instance.path(),
                               held, free, total);
}

void Checks::lease_of(const Instance& child, const Instance& parent) {
  const auto* below = child.core();
  const auto* above = parent.core();
  if (below == nullptr || above == nullptr || below->only_lists() || above->only_lists()) return;
  const auto* job = above->jobs.find(split_path(child.path()).second);
  if (job == nullptr || job->life.expiration == 0) return;
  constexpr Duration kOnItsWay = 15'000;  // a word may be held up for so long
  const Duration left_below = distance(below->clock.now(), below->identity.lease_end);
  const Duration left_above = distance(above->clock.now(), job->life.expiration);
  if (left_below > saturating_add(left_above, kOnItsWay))
    machine_.history.violation("{} believes to have {} ms left, its parent knows of {}",
                               child.path(), left_below, left_above);
}

void Checks::record(const std::string& observer, const msg::JobRecord& record) {
  const std::string key = observer + " " + record.path;
  const auto [known, is_new] = seen_.try_emplace(key, record);
  if (is_new) return;
  const auto& before = known->second;
  if (goes_back(before, record))
    machine_.history.violation("{} says of {}: {} {}, and had said {} {}", observer, record.path,
                               record.state, record.result, before.state, before.result);
  known->second = record;
}

void Checks::read_by_client(const std::string& who, const std::vector<msg::JobRecord>& records,
                            std::uint64_t before) {
  ++answers_read_;
  for (const auto& record : records) {
    compare_with_read(who, who + " " + record.path, record, before);
    if (record.as_of == 0) compare_with_read(who, record.path, record, before);
  }
}

void Checks::compare_with_read(const std::string& who, const std::string& key,
                               const msg::JobRecord& record, std::uint64_t before) {
  auto& all = read_[key];
  for (const auto& [answer, read] : all)
    if (answer <= before && goes_back(read, record))
      return machine_.history.violation("{} answers of {}: {} {}, and somebody had read {} {}", who,
                                        record.path, record.state, record.result, read.state,
                                        read.result);
  const bool is_known = std::any_of(
      all.begin(), all.end(), [&](const Read& one) { return !goes_back(record, one.record); });
  if (!is_known) all.push_back({answers_read_, record});
}

void Checks::told_by_owner(const msg::JobRecord& record) {
  if (record.state == "INACTIVE") by_owner_[record.path] = record.result;
}

void Checks::final_record(const std::string& path, const std::optional<msg::JobRecord>& record) {
  if (!record)
    return machine_.history.violation("job {} was acknowledged, and nobody knows of it", path);
  if (record->state != "INACTIVE")
    return machine_.history.violation("all is over, and job {} is in {}", path, record->state);
  const auto owner = by_owner_.find(path);
  if (owner != by_owner_.end() && owner->second != record->result)
    return machine_.history.violation("job {} is {} for its own instance, and {} at the root", path,
                                      owner->second, record->result);
  const auto truth = machine_.tasks.truth().find(path);
  const bool ran = truth != machine_.tasks.truth().end();
  if (record->result == "COMPLETED" && !record->is_instance &&
      (!ran || static_cast<int>(truth->second.ran_to_end.size()) < truth->second.tasks))
    machine_.history.violation("job {} is COMPLETED, and did not run to its end", path);
  if (record->result == "FAILED" && ran && !record->is_instance) failed(*record, truth->second);
}

// A job fails by what its tasks do, or by the loss of who watches them, and then it says so.
void Checks::failed(const msg::JobRecord& record, const Truth& truth) {
  const auto are_all = [&](const std::set<int>& ranks) {
    return static_cast<int>(ranks.size()) == truth.tasks;
  };
  const bool is_lost = std::any_of(truth.agents.begin(), truth.agents.end(),
                                   [&](pid_t agent) { return machine_.tasks.is_lost(agent); });
  if (are_all(truth.ran_to_end) && !is_lost)
    machine_.history.violation("job {} ran to its end, and is FAILED: {}", record.path,
                               record.reason);
  if (!are_all(truth.ended) && record.reason.empty())
    machine_.history.violation("job {} is FAILED, and nobody knows why", record.path);
}

void Checks::events_of(const instance::Journal& journal, const std::string& path,
                       std::uint64_t id) {
  const auto events = journal.events_of(JobId(id));
  if (!events) return machine_.history.violation("{}: {}", path, to_string(events.error()));
  std::map<std::string, int> times;
  for (const auto& event : *events) ++times[instance::name_of(event.body)];
  for (const char* once : {"alloc", "start", "finish", "release", "free", "clean"})
    if (times[once] > 1)
      machine_.history.violation("{}: {} happened {} times", path, once, times[once]);
  if (times["clean"] + times["invalidate"] != 1)
    machine_.history.violation("{} did not end exactly once", path);
}

std::string Checks::held_by(const instance::Core& core) {
  std::string text;
  for (const auto& [id, job] : core.jobs.active()) {
    if (!job.life.holds_resources || !job.allocation) continue;
    text += fmt::format("{} until {}:", id.value(), job.life.expiration);
    for (const auto& share : job.allocation->shares)
      text += fmt::format(" {}x{}", share.uniq_id, share.amount);
    text += "; ";
  }
  return text + "policy " + core.policies.of_default_queue();
}

}  // namespace holon::world
