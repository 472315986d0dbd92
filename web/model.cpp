#include "web/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/hostlist.hpp"
#include "base/idset.hpp"
#include "msg/grant_command.hpp"
#include "msg/job_filter.hpp"
#include "transport/codec/codec.hpp"

namespace holon::web {
namespace {

constexpr Time kSecond = 1'000;
constexpr Time kEndsKept = 300 * kSecond;

bool is_same(const GrantView& a, const GrantView& b) {
  return transport::pack(a.now) == transport::pack(b.now) &&
         transport::pack(msg::GrantHistory{a.history}) ==
             transport::pack(msg::GrantHistory{b.history});
}

// "job 7.12 failed (exit code 3): train"; "": nothing that a person follows.
std::string said_of(const msg::JobEvent& event, const msg::JobRecord& job) {
  const std::string who =
      fmt::format("job {}{}", msg::label_of(job), job.name.empty() ? "" : " " + job.name);
  if (event.name == "submit") return who + " submitted";
  if (event.name == "start") return who + " started";
  if (event.name != "clean") return "";
  std::string result = job.result;
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return job.result == "FAILED" ? fmt::format("{} failed, exit code {}", who, job.exit_code)
                                : who + " " + result;
}

void set_state(std::vector<Host>& hosts, const std::string& list, const std::string& state,
               const std::string& reason = "") {
  const auto names = Hostlist::parse(list);
  if (!names) return;
  std::map<std::string, Host*> by_name;
  for (Host& host : hosts) by_name[host.name] = &host;
  for (const std::string& name : names->hosts()) {
    const auto found = by_name.find(name);
    if (found == by_name.end())
      hosts.push_back({name, 0, 0, state, reason});
    else
      found->second->state = state, found->second->reason = reason;
  }
}

nlohmann::json part_of(const nlohmann::json& json, const char* key) {
  return json.is_object() && json.contains(key) ? json[key] : nlohmann::json();
}
std::string text_in(const nlohmann::json& json, const char* key) {
  const auto part = part_of(json, key);
  return part.is_string() ? part.get<std::string>() : "";
}
std::uint64_t number_in(const std::string& context, const char* key) {
  const auto part = part_of(nlohmann::json::parse(context, nullptr, false), key);
  return part.is_number_unsigned() ? part.get<std::uint64_t>() : 0;
}
// The number of ids in an idset.
std::int64_t counted(const nlohmann::json& json, const char* key) {
  const auto ids = Idset::parse(text_in(json, key));
  return ids ? static_cast<std::int64_t>(ids->count()) : 0;
}

}  // namespace

bool is_below(const std::string& path, const std::string& top) {
  return top == "/" || path == top ||
         (path.size() > top.size() && path.starts_with(top) && path[top.size()] == '/');
}

std::string instance_of(const std::string& job_path) {
  const auto cut = job_path.rfind('/');
  return cut == 0 || cut == std::string::npos ? "/" : job_path.substr(0, cut);
}

std::string path_of(const std::string& instance, std::uint64_t id) {
  return fmt::format("{}/{}", instance == "/" ? "" : instance, id);
}

std::vector<Host> hosts_of(const msg::ResourceReply& reply) {
  std::vector<Host> hosts;
  const auto execution = part_of(nlohmann::json::parse(reply.R, nullptr, false), "execution");
  const auto nodelist = part_of(execution, "nodelist"), parts = part_of(execution, "R_lite");
  for (const auto& list : nodelist.is_array() ? nodelist : nlohmann::json::array())
    if (const auto names = Hostlist::parse(list.is_string() ? list.get<std::string>() : ""))
      for (const std::string& name : names->hosts()) hosts.push_back({name, 0, 0, "free", ""});
  std::map<std::uint64_t, std::size_t> place_of_rank;
  for (const auto& part : parts.is_array() ? parts : nlohmann::json::array()) {
    const auto children = part_of(part, "children");
    const auto cores = counted(children, "core"), gpus = counted(children, "gpu");
    const auto ranks = Idset::parse(text_in(part, "rank"));
    for (const std::uint64_t rank : ranks ? ranks->ids() : std::vector<std::uint64_t>()) {
      const auto place = place_of_rank.emplace(rank, place_of_rank.size()).first->second;
      if (place >= hosts.size()) continue;
      hosts[place].cores += cores;
      hosts[place].gpus += gpus;
    }
  }
  set_state(hosts, reply.nodes_allocated, "busy");
  for (const auto& drained : reply.nodes_drained)
    set_state(hosts, drained.host, "drained", drained.reason);
  set_state(hosts, reply.nodes_down, "down");
  return hosts;
}

const InstanceView* Model::find(const std::string& path) const {
  const auto found = instances_.find(path);
  return found == instances_.end() ? nullptr : &found->second;
}

void Model::take(const std::string& path, const msg::EventsPart& part, Time now) {
  InstanceView& at = instances_[path];
  const std::int64_t extra_before = extra(path);
  at.node.path = path;
  if (part.anew) {
    ++at.moved;  // what moved before is in no event of this stream
    at.grants.clear();
    at.jobs.clear();
    at.waiting.clear();
    at.ended.clear();
    at.arrays.clear();
    at.given = 0;
  }
  for (const auto& job : part.jobs) put(at, job, now);
  for (const auto& event : part.events) {
    const auto job = at.jobs.find(event.id);
    if (job == at.jobs.end()) continue;
    note_move(at, event, job->second);
    const std::string said = said_of(event, job->second);
    if (said.empty()) continue;
    at.last_event = said;
    at.last_time = event.time;
  }
  for (const auto& node : part.node) {
    if (node.cores == 0 && node.health != "up") {  // only the health is known of it
      at.node.health = node.health;
    } else {
      at.node = node;
    }
    at.node.path = path;
    at.node.children.clear();
  }
  forget_old(at);
  at.changed = ++version_;
  if (extra(path) != extra_before) note_extra(path);
}

// Grants move by events of the child's job; what waits to be one is a job of its own.
void Model::note_move(InstanceView& at, const msg::JobEvent& event, const msg::JobRecord& job) {
  if (event.name.starts_with("grant-")) {
    if (const auto grant = number_in(event.context, "grant"); grant != 0) at.grants[grant] = job.id;
    ++at.moved;
    const auto child = instances_.find(path_of(at.node.path, job.id));
    if (child != instances_.end()) ++child->second.moved;
  } else if (job.command.starts_with(msg::kGrantTo) &&
             (event.name == "submit" || event.name == "clean")) {
    ++at.moved;
    const auto child = instances_.find(job.command.substr(msg::kGrantTo.size()));
    if (child != instances_.end()) ++child->second.moved;
  }
}

// A line about an instance shows what its children have of it.
void Model::note_extra(const std::string& path) {
  ++instances_[path].moved;
  const auto above = instances_.find(instance_of(path));
  if (path != "/" && above != instances_.end()) above->second.changed = version_;
}

std::vector<std::string> Model::children_of(const std::string& path) const {
  const std::string begin = path == "/" ? path : path + "/";
  std::vector<std::string> found;
  for (auto at = instances_.upper_bound(begin);
       at != instances_.end() && at->first.starts_with(begin); ++at)
    if (instance_of(at->first) == path) found.push_back(at->first);
  return found;
}

std::int64_t Model::extra(const std::string& path) const {
  const InstanceView* const at = find(path);
  if (at == nullptr || at->node.health == "ended") return 0;
  if (const auto* own = job(path); own != nullptr && own->is_instance)
    return is_running(*own) ? std::max<std::int64_t>(0, at->node.cores - own->ncores) : 0;
  std::int64_t cores = 0;  // the instance above is not known here
  for (const auto& part : at->grant.now.held) cores += part.source == "extra" ? part.cores : 0;
  return cores;
}

std::int64_t Model::lent(const std::string& path) const {
  std::int64_t cores = 0;
  for (const std::string& child : children_of(path)) cores += extra(child);
  return cores;
}

void Model::take_jobs(const std::string& path, const std::vector<msg::JobRecord>& jobs, Time now) {
  const auto found = instances_.find(path);
  if (found == instances_.end() || jobs.empty()) return;
  for (const auto& job : jobs) put(found->second, job, now);
  forget_old(found->second);
  found->second.changed = ++version_;
}

void Model::take_reasons(const std::string& path, const std::vector<msg::JobRecord>& jobs) {
  const auto found = instances_.find(path);
  if (found == instances_.end()) return;
  bool differs = false;
  for (const auto& job : jobs) {
    const auto known = found->second.jobs.find(job.id);
    if (known == found->second.jobs.end() || !is_waiting(known->second) || !is_waiting(job) ||
        (known->second.reason == job.reason && known->second.t_estimate == job.t_estimate))
      continue;
    known->second.reason = job.reason;
    known->second.t_estimate = job.t_estimate;
    differs = true;
  }
  if (differs) ++version_;
}

void Model::take_plan(const std::string& path, std::vector<msg::Span> plan) {
  const auto found = instances_.find(path);
  if (found == instances_.end()) return;
  // What is as it was changes nothing: each change is asked for by all who look.
  if (transport::pack(msg::PlanPart{0, found->second.plan}) ==
      transport::pack(msg::PlanPart{0, plan}))
    return;
  found->second.plan = std::move(plan);
  ++version_;
}

void Model::take_resources(const std::string& path, const msg::ResourceReply& reply) {
  const auto found = instances_.find(path);
  if (found == instances_.end()) return;
  auto hosts = hosts_of(reply);
  if (found->second.has_resources && hosts == found->second.hosts) return;
  found->second.hosts = std::move(hosts);
  found->second.has_resources = true;
  found->second.changed = ++version_;
}

void Model::take_grants(const std::string& path, GrantView grant) {
  const auto found = instances_.find(path);
  if (found == instances_.end()) return;
  for (const auto& part : grant.now.given)
    if (part.grant != 0 && part.source == "extra" && instance_of(part.path) == path)
      found->second.grants[part.grant] =
          std::strtoull(part.path.c_str() + part.path.rfind('/') + 1, nullptr, 10);
  if (is_same(found->second.grant, grant)) return;
  found->second.grant = std::move(grant);
  found->second.changed = ++version_;
}

void Model::count(InstanceView& at, const msg::JobRecord& job, int sign, Time now) {
  if (job.is_instance && is_running(job)) at.given += sign * job.ncores;
  // An array counts by its tasks where these are known, and otherwise as one job.
  if (has_waiting(job)) {
    if (sign > 0)
      at.waiting.emplace(job.t_submit, job.id);
    else
      at.waiting.erase({job.t_submit, job.id});
  }
  if (job.tasks > 0) at.arrays.insert(job.id);
  if (is_over(job) && job.tasks == 0 && job.t_inactive + kEndsKept > now)
    at.ended[job.t_inactive / kSecond] += sign;
}

void Model::put(InstanceView& at, const msg::JobRecord& job, Time now) {
  const auto [place, is_new] = at.jobs.try_emplace(job.id);
  if (!is_new) count(at, place->second, -1, now);
  place->second = job;
  count(at, job, +1, now);
  while (!at.ended.empty() && at.ended.begin()->first * kSecond + kEndsKept < now)
    at.ended.erase(at.ended.begin());
}

void Model::forget_old(InstanceView& at) const {
  if (at.jobs.size() <= most_ended_ + most_ended_ / 8) return;
  std::size_t excess = at.jobs.size() - most_ended_;
  for (auto job = at.jobs.begin(); job != at.jobs.end() && excess > 0; --excess)
    job = is_over(job->second) ? at.jobs.erase(job) : std::next(job);
  std::erase_if(at.grants, [&](const auto& grant) { return !at.jobs.contains(grant.first); });
}

const msg::JobRecord* Model::job(const std::string& path) const {
  const auto cut = path.rfind('/');
  if (cut == std::string::npos) return nullptr;
  const InstanceView* at = find(instance_of(path));
  if (at == nullptr) return nullptr;
  const auto found = at->jobs.find(std::strtoull(path.c_str() + cut + 1, nullptr, 10));
  return found == at->jobs.end() ? nullptr : &found->second;
}

std::map<std::string, std::vector<std::uint64_t>> Model::waiting_longest(const std::string& path,
                                                                         std::size_t most) const {
  std::vector<std::tuple<Time, std::string_view, std::uint64_t>> all;
  for (const auto& [where, at] : instances_) {
    if (!is_below(where, path) || at.node.health == "ended") continue;
    std::size_t n = 0;
    for (const auto& [submitted, id] : at.waiting) {
      if (n++ == most) break;
      all.emplace_back(submitted, where, id);
    }
  }
  std::sort(all.begin(), all.end());
  all.resize(std::min(all.size(), most));
  std::map<std::string, std::vector<std::uint64_t>> ids;
  for (const auto& [submitted, where, id] : all) ids[std::string(where)].push_back(id);
  return ids;
}

std::vector<const msg::JobRecord*> Model::jobs_below(const std::string& path, bool tasks) const {
  std::vector<const msg::JobRecord*> found;
  for (const auto& [where, at] : instances_) {
    if (!is_below(where, path)) continue;
    std::set<std::uint64_t> with_tasks;
    for (const auto& [id, job] : at.jobs)
      if (job.array != 0 && job.tasks == 0) with_tasks.insert(job.array);
    for (const auto& [id, job] : at.jobs) {
      const bool is_task = job.array != 0 && job.tasks == 0;
      const bool has_tasks = job.tasks > 0 && with_tasks.contains(id);
      if (tasks ? !has_tasks : !is_task) found.push_back(&job);
    }
  }
  return found;
}

}  // namespace holon::web
