#include "world/checks.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include "instance/journal/records/record_order.hpp"
#include "instance/request/placement.hpp"
#include "resource/graph/graph.hpp"
#include "world/instance.hpp"
#include "world/machine.hpp"

namespace holon::world {
namespace {

constexpr Micros kRounded = 10 * kMs;   // a broker's times are whole milliseconds
constexpr Duration kOnItsWay = 15'000;  // a word may be held up for so long

std::pair<std::string, JobId> split_path(const std::string& path) {
  const auto cut = path.rfind('/');
  return {cut == 0 ? "/" : path.substr(0, cut),
          JobId(std::strtoull(path.c_str() + cut + 1, nullptr, 10))};
}

// May jobs get anything on the node of this host?
bool is_offered(const instance::Instance& core, int host) {
  const auto& graph = core.store->graph();
  const auto nodes = graph.by_type("node");
  return std::any_of(nodes.begin(), nodes.end(), [&](const resource::VertexId node) {
    return graph.name(node) == Hosts::name_of(host) && graph[node].up;
  });
}

std::string instance_of(const std::string& path) {
  return split_path(path).first;
}

// The attempt; nullptr: nothing of it was started.
const Attempt* attempt_of(const Truth& truth, std::uint32_t number) {
  const auto found = truth.attempts.find(number);
  return found == truth.attempts.end() ? nullptr : &found->second;
}

std::int64_t cores_of(const instance::Instance& core, const resource::Allocation& allocation) {
  std::int64_t cores = 0;
  for (const auto& node : instance::nodes_of(core.store->graph(), allocation))
    cores += static_cast<std::int64_t>(node.cores.size());
  return cores;
}

bool goes_back(const msg::JobRecord& from, const msg::JobRecord& to) {
  const bool same =
      from.state == to.state && from.result == to.result && from.exit_code == to.exit_code;
  return !same && (from.state == "INACTIVE" || !instance::supersedes(to, from));
}

}  // namespace

void Checks::what_runs(const std::vector<std::unique_ptr<Instance>>& instances) {
  for (const auto& instance : instances)
    if (!instance->over()) note_hosts(*instance);
  for (const auto& [pid, task] : machine_.tasks.live()) {
    if (task->host >= BatchSystem::kFirstHost) last_used_[task->host] = now();
    if (left_.contains(task->host) && !is_given_up(task->host))
      return machine_.history.violation("{} runs on {}, which has left", task->path,
                                        Hosts::name_of(task->host));
    const auto [above, id] = split_path(task->path);
    for (const auto& instance : instances) {
      const auto* core =
          instance->path() == above && !instance->over() ? instance->core() : nullptr;
      if (core == nullptr || core->read_only()) continue;
      const auto* job = core->jobs.find(id);
      if (job == nullptr)
        cut_off(*task, *instance, *core, "its broker has no such job");
      else if (!job->life.holds_resources)
        cut_off(*task, *instance, *core, "what it uses is free for others");
      else if (job->life.retries != task->attempt)
        cut_off(*task, *instance, *core, "it is of an attempt that is over");
      else if (machine_.edition >= 9 && task->child_agent != nullptr &&
               !has_part(job->life, task->rank))
        cut_off(*task, *instance, *core, "the node that it is on has gone back");
      else if (!is_of_grant(job->life, task->rank) &&
               job->life.place.cores < static_cast<std::int64_t>(task->cores.size()))
        return machine_.history.violation("{} uses more cores than it holds", task->path);
      else if (task->instance == nullptr && task->child_agent == nullptr)
        stands_still(*task, job->life, task->agent != nullptr && core->agents.all_connected());
    }
  }
}

// The broker's word about the task comes true before long, if the agent is there all the time.
void Checks::stands_still(const Task& task, const instance::Lifecycle& job, bool is_connected) {
  constexpr Micros kUnseen = 500 * kMs, kSettled = 8 * kSecond;
  const bool agree = task.stopped == (job.suspended != 0) || job.state != instance::JobState::run;
  if (agree || !is_connected) {
    disagree_.erase(task.pid);
    return;
  }
  Disagreement& since = disagree_[task.pid];
  if (now() - since.last > kUnseen) since.since = now();
  since.last = now();
  if (now() - since.since > kSettled)
    machine_.history.violation("job {} is {}suspended, and task {} of it {}", task.path,
                               job.suspended != 0 ? "" : "not ", task.rank,
                               task.stopped ? "stands still" : "goes on");
}

void Checks::cut_off(const Task& task, const Instance& instance, const instance::Instance& core,
                     const std::string& what) {
  const bool is_far = instance.has_hosts() && task.host != instance.host();
  const auto rank = instance.rank_on(task.host);
  if (!is_far || !rank || is_offered(core, task.host))
    return machine_.history.violation("{} runs, and {}", task.path, what);
  const Micros away = now() - connected_[{instance.uri(), *rank}];
  if (away < rejoin_timeout_ - kRounded)
    machine_.history.violation("{} is given up after {} ms, and still runs", task.path, away / kMs);
}

// Has the root heard nothing of this host for so long that it does not count on it?
bool Checks::is_given_up(int host) const {
  const auto away = last_heard_.find(host);
  return away == last_heard_.end() || now() - away->second >= rejoin_timeout_ - kRounded;
}

// Notes hosts whose agents, away for too long, may have lost what they ran.
void Checks::note_hosts(const Instance& instance) {
  const auto* core = instance.core();
  if (!instance.has_hosts()) return;
  if (instance.is_root())
    for (const auto& [host, rank] : instance.ranks())
      if (core == nullptr || !core->agents.is_connected(rank)) last_away_[host] = now();
  if (core == nullptr) return;
  for (const auto& [host, rank] : instance.ranks()) {
    if (rank == 0) continue;
    Micros& connected = connected_.try_emplace({instance.uri(), rank}, now()).first->second;
    const AgentProcess* const agent = instance.agent(rank);
    if (core->agents.is_connected(rank)) {
      connected = now();
      if (instance.is_root()) last_heard_[host] = now();
    } else if (agent != nullptr && now() - connected >= rejoin_timeout_) {
      machine_.tasks.lose_agent(agent->pid());
    }
  }
}

Micros Checks::now() const {
  return machine_.timeline.now();
}

void Checks::plan_of(const Instance& instance) {
  const auto* core = instance.core();
  if (core == nullptr || core->read_only()) return;
  // Cores of nodes that are down or drained are neither free nor held.
  if (!core->offline.none() || !core->drains.here().empty() || !core->drains.above().empty())
    return;
  const Time now = instance.broker()->reactor().now();
  // Cores of a node past its end are neither free nor held, either.
  const auto& graph = core->store->graph();
  for (const auto node : graph.by_type("node"))
    if (graph.end_of(node) <= now) return;
  // Cores past their own end are neither until they are drained, which an ending instance never
  // does.
  for (const auto core_vertex : graph.by_type("core"))
    if (graph.end_of(core_vertex) <= now && !graph[core_vertex].drained) return;
  std::int64_t held = 0;
  for (const auto& [id, job] : core->jobs.active()) {
    if (!job.life.holds_resources) continue;
    if (!job.allocation || job.allocation->when.end <= now) return;  // it overruns
    held += job.submission->wishes.lends ? cores_of(*core, *job.allocation) : job.life.place.cores;
    for (const auto& lent : core->jobs.lent_by(id))
      for (const auto v : lent.vertices)
        held -= lent.until > now && graph.type_name(v) == "core" ? 1 : 0;
  }
  for (const JobId id : core->store->jobs()) {
    if (qmanager::owner_of(id) != id) continue;  // what a job that is there has back
    const auto* job = core->jobs.find(id);
    if (job == nullptr)
      return machine_.history.violation("{}: the plan has a job {} that is not there",
                                        instance.path(), id.value());
    const auto span = core->store->holding(id);
    if (!job->life.holds_resources && span && span->held.begin <= now) return;  // about to start
    if (span && span->held.end <= now) return;  // it was preempted, and takes longer than it may
  }
  const auto total = core->store->total("core");
  const auto free = core->store->available("core", now);
  // Cores that go back to the instance above are drained one by one.
  const auto leaving = core->store->drained("core", now);
  if (held + free + leaving != total)
    machine_.history.violation("{}: its jobs hold {} cores, {} of {} are free, {} go back",
                               instance.path(), held, free, total, leaving);
}

void Checks::added(int host, Duration lasts) {
  left_.erase(host);
  ++times_added_[host];
  gone_.erase(host);
  if (lasts > 0) gone_[host] = {now(), now() + lasts * kMs, false};
}

void Checks::end_told(int host, Micros at) {
  constexpr Micros kSame = 2 * kSecond;
  Gone& gone = gone_[host];
  const bool is_new = std::abs(gone.at - at) > kSame || gone.added < last_away_[host];
  if (is_new) gone = {now(), at, true};
}

// Checks jobs placed when the agent was surely welcome and is still its host's: jobs that are there
// when it comes may be older, and end with the loss of their node.
void Checks::ends_of_nodes(const Instance& root) {
  const auto* core = root.core();
  if (core == nullptr || gone_.empty()) return;
  constexpr Duration kOnItsWay = 15'000;  // its agent's word may be held up for so long
  const Time clock = core->clock.now();
  for (const JobId id : core->jobs.holding()) {
    const auto& job = *core->jobs.find(id);
    if (!job.allocation || job.allocation->when.end <= clock) continue;  // it overruns
    for (const auto& node : instance::nodes_of(core->store->graph(), *job.allocation))
      for (const auto& [host, gone] : gone_) {
        const AgentProcess* const agent = root.agent_on(host);
        if (Hosts::name_of(host) != node.host || agent == nullptr || agent->lasts == 0) continue;
        if (clock - job.life.t_alloc + kOnItsWay > (now() - gone.added) / kMs) continue;
        const auto away = last_away_.find(host);
        if (gone.is_told && away != last_away_.end() && away->second > gone.added) continue;
        const Duration left = gone.at > now() ? (gone.at - now()) / kMs : 0;
        if (job.allocation->when.end - clock > left + kOnItsWay)
          return machine_.history.violation("job {} has {} ms on {}, which is gone in {} ms",
                                            id.value(), job.allocation->when.end - clock, node.host,
                                            left);
      }
  }
}

void Checks::counts_of(const Instance& instance) {
  const auto* core = instance.core();
  instance::JobCounts::Row counted{};
  const auto add = [&counted](instance::JobKind kind, std::int64_t n) {
    counted[static_cast<std::size_t>(kind)] += n;
  };
  for (const auto& [id, job] : core->jobs.active()) {
    if (!instance::is_array(job)) {
      add(instance::kind_of(job.life), 1);
      continue;
    }
    const auto* const array = core->jobs.array_with(id);
    const bool waits = job.life.state == instance::JobState::depend;
    add(waits ? instance::JobKind::depend : instance::JobKind::sched,
        static_cast<std::int64_t>(array->waiting.count() + array->blocked.count()));
  }
  const auto ended = core->journal.inactive_counts();
  if (!ended) return machine_.history.violation("{}", to_string(ended.error()));
  for (const auto& [result, n] : *ended) add(instance::kind_of_result(result), n);
  const auto& kept = core->jobs.kept_counts().total();
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (kept[i] != counted[i])
      machine_.history.violation("{}: {} jobs are {}, and {} are counted", instance.path(),
                                 counted[i], instance::word_of(static_cast<instance::JobKind>(i)),
                                 kept[i]);
}

void Checks::lease_of(const Instance& child, const Instance& parent) {
  const auto* below = child.core();
  const auto* above = parent.core();
  if (below == nullptr || above == nullptr || below->read_only() || above->read_only()) return;
  const auto* job = above->jobs.find(split_path(child.path()).second);
  if (job == nullptr || job->life.expiration == 0) return;
  // A limit goes from the user to the parent, and from there to the child.
  for (std::string path = child.path(); path != "/"; path = instance_of(path))
    if (const auto asked = limit_asked_.find(path);
        asked != limit_asked_.end() && now() - asked->second < 2 * kOnItsWay * kMs)
      return;
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
  if (record->is_instance) return;
  if (record->tasks > 0) return array_at_end(*record);
  const auto truth = machine_.tasks.truth().find(path);
  const bool ran = truth != machine_.tasks.truth().end();
  const Attempt* const last = ran ? attempt_of(truth->second, record->retries) : nullptr;
  if (ran && truth->second.attempts.rbegin()->first > record->retries)
    machine_.history.violation("job {} ran after the attempt that counts", path);
  if (record->result == "COMPLETED" &&
      (last == nullptr || static_cast<int>(last->ran_to_end.size()) < truth->second.tasks))
    machine_.history.violation("job {} is COMPLETED, and did not run to its end", path);
  ended_for_return(*record);
  if (record->result == "FAILED" && last != nullptr) failed(*record, truth->second, *last);
  if (record->result == "TIMEOUT" && last != nullptr) ended_by_limit(*record, *last);
}

void Checks::granted(const msg::JobRecord& record, const Wish& wish) {
  if (record.is_instance) return;
  const auto truth = machine_.tasks.truth().find(record.path);
  if (truth == machine_.tasks.truth().end()) return;
  if (truth->second.indices != std::set<std::string>{wish.index})
    machine_.history.violation("job {} has the index \"{}\", and its tasks had another",
                               record.path, wish.index);
  retried(record, truth->second, wish);
  preempted(record, wish);
}

void Checks::preempted(const msg::JobRecord& record, const Wish& wish) {
  if (record.preemptions > 0 && !wish.preemptible)
    machine_.history.violation("job {} is preempted, and is not preemptible", record.path);
  if (record.preemptions > 0)
    machine_.history.note("job {} was preempted {} times", record.path, record.preemptions);
  const bool gave_place =
      record.reason.ends_with(" takes its place") && !was_ended_for_return(record);
  if (!gave_place || !runs_again_ || last_retry_.contains(record.path)) return;
  const auto over = machine_.tasks.truth().at(record.path).attempts.rbegin()->second.over;
  if (!may_have_been_cancelled(record.path) && !ends_about(record.path, over))
    machine_.history.violation(
        "job {} was preempted, and is not run again: it is {} after {} retries", record.path,
        record.result, record.retries);
}

// A cancel of the job, or of its whole array, keeps it from running again when it ends.
bool Checks::may_have_been_cancelled(const std::string& path) const {
  return cancel_asked_.contains(path) || (is_calm_ && !over_before_.contains(path));
}

// A limit that was acknowledged holds where nothing fails; it takes time to reach the agent.
void Checks::ended_by_limit(const msg::JobRecord& record, const Attempt& attempt) {
  const auto known = limits_.find(record.path);
  if (has_faults_ || known == limits_.end() || record.reason != "its time limit was reached")
    return;
  const auto [limit, since] = known->second;
  constexpr Micros kOnItsWay = kSecond;
  if (attempt.over - since > kOnItsWay && attempt.over - attempt.began < limit - kRounded)
    machine_.history.violation("job {} was ended after {} ms, and has a limit of {} ms",
                               record.path, (attempt.over - attempt.began) / kMs, limit / kMs);
}

void Checks::retried(const msg::JobRecord& record, const Truth& truth, const Wish& wish) {
  const std::uint32_t retries = record.retries;
  const std::uint32_t free = std::min(record.preemptions, retries);  // the last may be no retry
  if (retries > wish.requeue + free)
    machine_.history.violation("job {} ran again {} times, and may only {} times", record.path,
                               retries, wish.requeue);
  const auto last = last_retry_.find(record.path);
  if (last != last_retry_.end() && retries > last->second)
    machine_.history.violation("job {} ran again after it was cancelled", record.path);
  const Attempt* const how = attempt_of(truth, retries);
  if (how == nullptr || record.result != "FAILED" || retries >= wish.requeue + free) return;
  const bool has_failed = static_cast<int>(how->ended.size()) == truth.tasks &&
                          !how->codes.empty() && wish.retry_on.contains(*how->codes.rbegin());
  if (has_failed && !may_have_been_cancelled(record.path) &&
      !ends_about(record.path, how->last_end))
    machine_.history.violation(
        "job {} failed, and is not run again: {} of {} attempts are left: {}", record.path,
        wish.requeue - retries, wish.requeue + 1, record.reason);
}

// An end may have been told late, and one that was held up counts from its beginning.
bool Checks::ends_about(const std::string& path, Micros when) const {
  constexpr Micros kSoon = 60 * kSecond;
  for (std::string above = instance_of(path);; above = instance_of(above)) {
    if (const auto ends = ends_.find(above); ends != ends_.end())
      for (const Micros end : ends->second)
        if (end >= when - kSoon && end <= when + kSoon) return true;
    if (above == "/") return false;
  }
}

// A job fails by what its tasks do, or because the agent that watched them was lost; its record
// says which.
void Checks::failed(const msg::JobRecord& record, const Truth& truth, const Attempt& attempt) {
  const auto are_all = [&](const std::set<int>& ranks) {
    return static_cast<int>(ranks.size()) == truth.tasks;
  };
  const bool is_lost = std::any_of(attempt.agents.begin(), attempt.agents.end(),
                                   [&](pid_t agent) { return machine_.tasks.is_lost(agent); });
  // The word of an end may cross that of a recall.
  if (are_all(attempt.ran_to_end) && !is_lost && !was_ended_for_return(record))
    machine_.history.violation("job {} ran to its end, and is FAILED: {}", record.path,
                               record.reason);
  if (!are_all(attempt.ended) && record.reason.empty())
    machine_.history.violation("job {} is FAILED, and nobody knows why", record.path);
}

// Each task ends exactly once, and the array with the last of them. If the array's instance was
// lost, only that is known.
void Checks::array_at_end(const msg::JobRecord& array) {
  if (array.path.rfind('/') != 0) return;
  const auto ended = array.tasks_completed + array.tasks_failed + array.tasks_cancelled;
  if (ended != array.tasks || array.tasks_pending + array.tasks_running > 0)
    machine_.history.violation(
        "array {} of {} tasks is over: {} completed, {} failed, {} cancelled", array.path,
        array.tasks, array.tasks_completed, array.tasks_failed, array.tasks_cancelled);
  if ((array.result == "COMPLETED") != (array.tasks_completed == array.tasks))
    machine_.history.violation("array {} is {}, and {} of {} tasks completed", array.path,
                               array.result, array.tasks_completed, array.tasks);
}

void Checks::task_at_end(const instance::Journal& journal, const std::string& path,
                         std::uint64_t id) {
  const auto ended = journal.ended_task(JobId(id));
  if (!ended || !*ended)
    return machine_.history.violation("the journal does not say how task {} ended", path);
  events_of(journal, path, id);
}

void Checks::events_of(const instance::Journal& journal, const std::string& path,
                       std::uint64_t id) {
  const auto events = journal.events_of(JobId(id));
  if (!events) return machine_.history.violation("{}: {}", path, to_string(events.error()));
  constexpr std::array kInEachAttempt = {"alloc", "start", "finish", "release", "free"};
  std::map<std::string, int> times;
  for (const auto& event : *events) {
    const std::string name = instance::name_of(event.body);
    ++times[name];
    for (const char* once : kInEachAttempt) {
      if (name == "requeue") times[once] = 0;
      if (times[once] > 1)
        return machine_.history.violation("{}: {} happened {} times", path, once, times[once]);
    }
  }
  if (times["clean"] + times["invalidate"] != 1)
    machine_.history.violation("{} did not end exactly once", path);
}

std::string Checks::held_by(const instance::Instance& core) {
  std::string text = fmt::format("{} nodes; ", core.store->total("node"));
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
