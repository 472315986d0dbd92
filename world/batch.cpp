// Batch jobs that bring nodes (holon provision): who asks for them, what they do on their nodes,
// and what must be so of them.
#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/hostlist.hpp"
#include "batch/allocation.hpp"
#include "launch/remote/invitation.hpp"
#include "msg/provision.hpp"
#include "transport/codec/codec.hpp"
#include "world/world.hpp"

namespace holon::world {
namespace {

constexpr Duration kMostIdle = 8'000;              // ms, of all provisions
constexpr Micros kUnknownPatience = 15 * kSecond;  // a command to take it back is on its way
constexpr Micros kIdleNodePatience = 25 * kSecond;
constexpr Micros kLastNodes = 130 * kSecond;  // of a script that finds nobody to join

// The words of the text that stand in single quotes.
std::vector<std::string> quoted_in(const std::string& text) {
  std::vector<std::string> words;
  for (auto at = text.find('\''); at != std::string::npos; at = text.find('\'', at + 1)) {
    const auto end = text.find('\'', at + 1);
    if (end == std::string::npos) break;
    words.push_back(text.substr(at + 1, end - at - 1));
    at = end;
  }
  return words;
}

std::string word_after(const std::vector<std::string>& words, const std::string& option) {
  const auto found = std::find(words.begin(), words.end(), option);
  return found == words.end() || std::next(found) == words.end() ? "" : *std::next(found);
}

int host_named(const std::string& name) {
  return std::atoi(name.c_str() + std::string_view("node").size());
}

}  // namespace

void World::begin_batch_system() {
  auto& dice = machine_.dice;
  auto& batch = machine_.batch;
  has_batch_ = true;
  for (int host = BatchSystem::kFirstHost; host < BatchSystem::kFirstHost + BatchSystem::kHosts;
       ++host)
    machine_.hosts.set_topology(host, machine_with(3, Hosts::name_of(host)));
  root_conf_.insert(root_conf_.end(), {fmt::format("batch.interval={}s", dice.between(2, 5)),
                                       fmt::format("batch.margin={}s", dice.between(0, 3))});
  batch.on_begin = [this](const BatchJob& job, int host) { begin_on_node(job, host); };
  batch.on_end = [this](const BatchJob& job, int host) { end_on_node(job, host); };
  batch.is_free = [this](int host) { return !is_added_by_hand(host); };
  batch.on_told = [this](const BatchJob& job) {
    for (const int host : job.hosts) checks_.end_told(host, job.end);
  };
}

// ---- what people ask ----

void World::change_provisions() {
  const auto* core = root_ == nullptr || !root_->ready() ? nullptr : root_->core();
  if (core == nullptr || core->read_only()) return;
  auto& dice = machine_.dice;
  const auto known = core->provisions.list().provisions;
  if (known.empty() || (known.size() == 1 && dice.one_in(4))) return add_provision();
  static const std::vector<std::string> kActions = {"pause", "resume", "resume", "remove"};
  const auto last = static_cast<std::int64_t>(known.size()) - 1;
  const auto action = kActions[static_cast<std::size_t>(dice.between(0, 3))];
  change_provision(known[static_cast<std::size_t>(dice.between(0, last))].number, action);
}

void World::add_provision() {
  auto& dice = machine_.dice;
  msg::ProvisionRequest ask;
  ask.system = "slurm";
  ask.walltime = dice.between(60, 240) * 1'000;
  ask.nodes_each = dice.one_in(3) ? 2 : 1;
  ask.most_queued = static_cast<std::uint32_t>(dice.between(1, 3));
  ask.most_nodes = static_cast<std::uint32_t>(dice.between(2, 4));
  ask.idle = dice.between(1'000, kMostIdle);
  ask.patience = dice.between(0, 2'000);
  user_->ask(root_->uri(), "provision.add", transport::pack(ask),
             [this](const Result<std::string>& answer) {
               if (answer) machine_.history.note("batch jobs may bring nodes");
             });
}

// Asks for nodes when nothing fails any more: they are used once, and then not needed.
void World::want_nodes_once_more() {
  if (root_ == nullptr || !root_->ready())
    return machine_.timeline.after(kSecond, [this] { want_nodes_once_more(); });
  add_provision();
  Ask ask;
  ask.limit = 30;
  ask.count = 12;
  ask.tasks = 1;
  ask.cores = 3;  // a node each
  ask.command = {"work", std::to_string(machine_.dice.between(4'000, 10'000)), "0", "0"};
  submit(*root_, ask);
}

void World::change_provision(std::uint64_t number, const std::string& action) {
  user_->ask(root_->uri(), "provision.change",
             transport::pack(msg::ProvisionChange{number, action}),
             [this, number, action](const Result<std::string>& answer) {
               if (answer) machine_.history.note("provision {}: {}", number, action);
             });
}

// ---- on the nodes ----

// The script is the real one: it says how it joins, and how long its node is there.
void World::begin_on_node(const BatchJob& job, int host) {
  const auto words = quoted_in(job.script);
  std::ifstream file(word_after(words, "--key"));
  std::string key;
  std::getline(file, key);
  auto invitation = launch::parse_invitation(key);
  if (!invitation) {
    machine_.history.note("batch job {} finds no invitation", job.id);
    machine_.timeline.after(kMs, [this, id = job.id, host] { machine_.batch.ended_on(id, host); });
    return;
  }
  invitation->addresses = {Wires::address_for_keys(last_root_uri_)};  // no port leads anywhere here
  const pid_t pid = machine_.new_pid();
  machine_.tasks.adopt(pid, 0);
  auto agent = std::make_unique<AgentProcess>(
      machine_, fmt::format("agent of batch job {} on {}", job.id, Hosts::name_of(host)), pid,
      [this] { return find("/"); }, host);
  agent->batch_job = job.id;
  const std::string until = word_after(words, "--until");  // "+60s"
  agent->lasts = std::strtoll(until.c_str(), nullptr, 10) * 1'000;
  agent->on_place = [this, id = job.id, host, lasts = agent->lasts] {
    machine_.history.note("{} has a place by batch job {}", Hosts::name_of(host), id);
    checks_.added(host, lasts);
  };
  // Processes left there end with the job.
  agent->on_death = [this, pid, id = job.id, host, raw = agent.get()](bool, int) {
    machine_.tasks.lose_agent(pid);
    remove(*raw);
    machine_.tasks.clear_left_by(pid);
    machine_.batch.ended_on(id, host);
  };
  agent->join_patiently(*invitation, {-1, Hosts::name_of(host)});
  add(std::move(agent));
}

void World::end_on_node(const BatchJob& job, int host) {
  const auto its_agent = [this, id = job.id, host]() -> AgentProcess* {
    for (const auto& agent : loose_)
      if (agent->host() == host && agent->batch_job == id) return agent.get();
    return nullptr;
  };
  if (AgentProcess* const agent = its_agent()) agent->terminate();
  machine_.timeline.after(machine_.dice.between(100, 5'000) * kMs, [its_agent] {
    if (AgentProcess* const agent = its_agent()) agent->kill("by the batch system");
  });
}

void World::fail_batch_system() {
  auto& dice = machine_.dice;
  switch (dice.between(1, 4)) {
    case 1:
      return machine_.batch.be_down(dice.between(1'000, 15'000) * kMs);
    case 2:
      return machine_.batch.lose_one();
    default:
      return machine_.batch.shorten_one();
  }
}

// ---- what must be so ----

void World::check_batch_jobs() {
  const auto* core = root_ == nullptr || !root_->ready() ? nullptr : root_->core();
  if (core == nullptr || core->read_only() || core->ending || !core->journal.look()) {
    unknown_since_.clear();
    idle_nodes_.clear();
    return;
  }
  const auto known = core->provisions.list().batch_jobs;
  std::map<std::string, Micros> unknown;
  for (const auto& [id, job] : machine_.batch.jobs()) {
    const bool is_known = std::any_of(known.begin(), known.end(),
                                      [&](const auto& row) { return row.name == job.name; });
    if (job.state != BatchJob::State::queued || is_known) continue;
    const auto since = unknown_since_.find(id);
    unknown[id] = since == unknown_since_.end() ? machine_.timeline.now() : since->second;
    if (machine_.timeline.now() - unknown[id] > kUnknownPatience)
      machine_.history.violation("batch job {} is queued, and no journal knows it", id);
  }
  unknown_since_ = std::move(unknown);
  check_idle_nodes(*core, known);
}

// Idle nodes go back to the batch system.
void World::check_idle_nodes(const instance::Instance& core,
                             const std::vector<msg::BatchJob>& known) {
  const Micros now = machine_.timeline.now();
  std::map<int, IdleNode> idle;
  for (const auto& row : known) {
    const auto here = Hostlist::parse(row.here);
    for (const auto& name : here ? here->hosts() : std::vector<std::string>()) {
      const int host = host_named(name);
      const auto rank = root_->rank_on(host);
      if (!rank || !core.leaving_nodes.is_idle(*rank)) continue;
      const IdleNode is{root_->broker()->pid(), now};
      const auto was = idle_nodes_.find(host);
      const bool is_same = was != idle_nodes_.end() && was->second.broker == is.broker;
      idle[host] = is_same ? was->second : is;
      const Micros since = std::max(idle[host].since, checks_.last_used(host));
      if (now - since > kMostIdle * kMs + kIdleNodePatience)
        machine_.history.violation("{} has had nothing to do for {} ms, and is not given back",
                                   name, (now - since) / kMs);
    }
  }
  idle_nodes_ = std::move(idle);
}

// In half of the worlds no user asks for nodes any more, and all batch jobs end before their root.
void World::calm_batch_system() {
  machine_.batch.calm();
  removes_provisions_ = machine_.dice.one_in(2);
}

void World::remove_provisions() {
  const auto* core = root_ == nullptr || !root_->ready() ? nullptr : root_->core();
  if (core == nullptr || !removes_provisions_) return;
  for (const auto& provision : core->provisions.list().provisions)
    change_provision(provision.number, "remove");
}

// The outcome of each batch job asked for is known.
bool World::is_batch_settled(const instance::Instance& core) const {
  const auto known = core.provisions.list();
  if (removes_provisions_)
    return known.provisions.empty() && known.batch_jobs.empty() && machine_.batch.jobs().empty();
  return std::none_of(known.batch_jobs.begin(), known.batch_jobs.end(),
                      [](const auto& row) { return row.id.empty(); });
}

// After the root, waiting batch jobs were taken back, and running ones end with their nodes.
void World::check_no_batch_jobs() {
  for (const auto& [id, job] : machine_.batch.jobs())
    if (job.state == BatchJob::State::queued)
      return machine_.history.violation("all is over, and batch job {} is queued", id);
  const auto all_over = [this] { return machine_.batch.jobs().empty(); };
  if (!run_until(machine_.timeline.now() + kLastNodes, all_over) && !machine_.history.failed() &&
      !all_over())
    machine_.history.violation("all is over, and batch job {} goes on",
                               machine_.batch.jobs().begin()->first);
}

}  // namespace holon::world
