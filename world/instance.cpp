#include "world/instance.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "batch/systems.hpp"
#include "config/config.hpp"
#include "instance/basics/exit_codes.hpp"
#include "launch/remote/invitation.hpp"
#include "transport/codec/codec.hpp"
#include "world/machine.hpp"

namespace holon::world {

namespace fs = std::filesystem;

namespace {

constexpr Duration kJoinPatience = 60'000;  // of an agent that waits to be let in
constexpr Duration kJoinAgain = 500;
constexpr Micros kLookForAsk = 50 * kMs;  // whether a broker that ends needs an agent

// Messages are not encrypted here: all that counts is which key a connection has shown.
transport::KeyPair key_of(const std::string& whose) {
  return {"public " + whose, "secret " + whose};
}

uid_t uid_of(const std::string& user) {
  const passwd* const entry = getpwnam(user.c_str());
  return entry == nullptr ? geteuid() : entry->pw_uid;
}

}  // namespace

BrokerProcess::BrokerProcess(Machine& machine, const std::string& name, pid_t pid,
                             instance::BrokerOptions options, std::function<void()> on_ready,
                             int host)
    : Process(machine, name, pid, host) {
  // Any descriptor will do to listen for agents on other hosts: the network is the world's.
  if (!options.hosts.empty()) options.socket = open("/dev/null", O_RDONLY | O_CLOEXEC);
  run([&] {
    auto broker = instance::Broker::create(
        reactor(), options, nullptr,
        {[&machine](std::int64_t process, const std::vector<instance::event::Process>& ancestors) {
           return machine.tasks.belongs_to(process, ancestors);
         },
         machine.hosts.topology(host)});
    if (!broker) {
      if (alive()) machine.history.note("{} cannot begin: {}", name, to_string(broker.error()));
      close(options.socket);  // which no broker has taken over
      return exit(instance::exit_of_refused(broker.error(), options.goes_on));
    }
    broker_ = std::move(*broker);
    broker_->on_ready(std::move(on_ready));
    broker_->on_end([this](int code) { exit(code); });
  });
}

BrokerProcess::~BrokerProcess() {
  run([this] { broker_.reset(); });
}

void BrokerProcess::tell(const std::function<void(instance::Broker&)>& what) {
  deliver([this, what] {
    if (broker_) what(*broker_);
  });
}

AgentProcess::AgentProcess(Machine& machine, const std::string& name, pid_t pid,
                           std::function<Instance*()> owner, int host)
    : Process(machine, name, pid, host), machine_of_(machine), find_owner_(std::move(owner)) {}

void AgentProcess::begin(launch::AgentOptions how) {
  owner_ = find_owner_();
  if (owner_ == nullptr) return exit(launch::kAgentCouldNotBegin);
  rank_ = how.rank;
  owner_->attach(rank_, this);
  run([&] {
    how.log_level = "off";
    const std::string& topology = machine_of_.hosts.topology(host());
    auto node = topology.empty() ? launch::Node() : launch::Node::of(topology);
    if (!node) return machine_of_.history.violation("{}", to_string(node.error()));
    auto agent = launch::Agent::create(
        reactor(), std::move(how),
        {std::move(*node), launch::NodeFrame{}, machine_of_.tasks.processes_of(*this, *owner_)});
    if (!agent)
      return machine_of_.history.violation("{} cannot begin: {}", name(), to_string(agent.error()));
    agent_ = std::move(*agent);
  });
}

void AgentProcess::reach(const std::string& uri, const std::string& name,
                         const transport::Security& as) {
  transport::Options options;
  options.name = name;
  options.security = as;
  admission_ = std::move(*transport::Client::connect(reactor(), uri, options));
}

void AgentProcess::join(const std::string& address, const transport::Security& as,
                        const launch::msg::JoinRequest& ask) {
  invited_ = as;
  address_ = address;
  ask_ = ask;
  run([&] {
    reach(address, "agent, joining", as);
    call_for_place();
  });
}

void AgentProcess::call_for_place() {
  admission_->call({"agent.join", transport::pack(ask_), "", kJoinPatience},
                   [this](const Result<std::string>& answer) { hear_place(answer); });
}

// Asks as instance/assembly/child_agent.cpp does, which waits for each answer.
void AgentProcess::ask_parent(const instance::ChildAgentOptions& how) {
  of_child_ = how;
  is_of_child_ = true;
  run([&] {
    reach(how.parent_uri, "agent of a child, joining", {});
    patience_ = reactor().after(kJoinPatience, [this] { exit(launch::kAgentCouldNotBegin); });
    admission_->on_connected([this](const transport::PeerInfo&) { patience_.cancel(); });
    call_parent();
  });
}

void AgentProcess::call_parent() {
  const msg::InvitationRequest ask{of_child_.token, of_child_.job};
  admission_->call({"invitation", transport::pack(ask), "", 0},
                   [this](const Result<std::string>& answer) { hear_parent(answer); });
}

void AgentProcess::hear_parent(const Result<std::string>& answer) {
  if (!answer) {
    const Errc code = answer.error().code;
    if (code == Errc::denied || code == Errc::unsupported) return exit(launch::kAgentCouldNotBegin);
    again_ = reactor().after(kJoinAgain, [this] { call_parent(); });
    return;
  }
  const auto reply = transport::unpack<msg::InvitationReply>(*answer);
  const auto invitation =
      reply ? launch::parse_invitation(reply->invitation) : tl::unexpected(reply.error());
  if (!invitation)
    return machine_of_.history.violation("{} is given rubbish for an invitation", name());
  reactor().defer([this, invitation = *invitation] {
    admission_.reset();
    const auto& place = of_child_.place;
    const auto index = static_cast<std::int64_t>(place.index);
    join_patiently(invitation, {place.is_by_name ? -1 : index, place.hosts[place.index]});
  });
}

void AgentProcess::join_patiently(const launch::Invitation& invitation,
                                  const launch::msg::JoinRequest& ask) {
  waits_for_place_ = true;
  patience_ = reactor().after(kJoinPatience, [this] { exit(launch::kAgentCouldNotBegin); });
  join(invitation.addresses.front(),
       {invitation.server_key, invitation.key.public_key, invitation.key.secret_key}, ask);
}

// If the broker was lost meanwhile, an agent that waits patiently asks again. Any other ends, and
// its starter starts the next one.
void AgentProcess::hear_place(const Result<std::string>& answer) {
  if (!answer && waits_for_place_ && answer.error().code == Errc::disconnected) {
    again_ = reactor().after(kJoinAgain, [this] { call_for_place(); });
    return;
  }
  if (!answer) return exit(launch::kAgentCouldNotBegin);
  patience_.cancel();
  const auto place = transport::unpack<launch::msg::JoinReply>(*answer);
  if (!place) return machine_of_.history.violation("{} is given rubbish for a place", name());
  on_place();
  launch::AgentOptions how;
  how.broker_uri = address_;
  how.secret = place->secret;
  how.rank = place->rank;
  how.hostname = place->host;
  how.orphan_timeout = place->orphan_timeout;
  if (!machine_of_.planted(Plant::endless_node)) how.lasts = lasts;
  how.batch_job = batch_job;
  if (!batch_job.empty()) how.batch_system = batch::name_of(batch::System::slurm);
  how.security = {invited_.server_public_key, place->public_key, place->secret_key};
  reactor().defer([this, how] {
    admission_.reset();
    begin(how);
  });
}

AgentProcess::~AgentProcess() {
  if (owner_ != nullptr) owner_->detach(*this);
  machine_of_.tasks.agent_is_gone(*this);
  run([this] {
    admission_.reset();
    agent_.reset();
  });
}

void AgentProcess::after_turn() {
  if (agent_ && agent_->exit_code()) exit(*agent_->exit_code());
}

void AgentProcess::tell(const std::function<void(launch::Agent&)>& what) {
  deliver([this, what] {
    if (agent_) what(*agent_);
  });
}

void AgentProcess::terminate() {
  constexpr Duration kLastWords = 2'000;  // as launch::agent_main() has it
  deliver([this] { agent_ ? agent_->shut_down(kLastWords) : exit(128 + SIGTERM); });
}

Instance::Instance(Machine& machine, Instances& all, Begin begin)
    : machine_(machine), all_(all), begin_(std::move(begin)), agents_(own_agents()) {
  options_.start.state_dir = begin_.state_dir;
  options_.start.conf = begin_.conf;
  options_.start.resources = begin_.resources;
  options_.start.grant = !is_root();
  options_.start.system = begin_.system;
  options_.start.background = begin_.is_idle_over;
  options_.start.exit_on_loss = begin_.exit_on_loss;
  options_.start.limit_ms = begin_.limit;
  options_.runtime_dir = machine_.dir + "/r" + std::to_string(machine_.new_pid());
  options_.binary = "holon";
  options_.parent_uri = begin_.parent_uri;
  options_.job_path = is_root() ? "" : begin_.path;
  options_.goes_on = begin_.goes_on;
  for (std::uint32_t rank = 0; rank < begin_.agents; ++rank)
    options_.secrets.agents.push_back(fmt::format("agent {} of {}", rank, options_.runtime_dir));
  if (has_hosts()) open_to_hosts();
  options_.secrets.token = begin_.token;
  for (const auto& dir : {options_.runtime_dir, begin_.state_dir}) fs::create_directories(dir);
  if (machine_.edition >= 6) claim();
  later(machine_.dice.between(kMs, 20 * kMs), [this] {
    start_broker();
    for (std::uint32_t rank = 0; rank < own_agents(); ++rank)
      if (rank == 0 || begin_.late == 0 || machine_.dice.one_in(2))
        start_agent(rank);
      else
        later(machine_.dice.between(0, begin_.late), [this, rank] { start_agent(rank); });
  });
  if (machine_.planted(Plant::stale_remains) || machine_.planted(Plant::old_journal))
    later(2 * kSecond, [this] { machine_.disk.take_snapshot(begin_.state_dir); });
}

Instance::~Instance() = default;

// Claims the state like StateClaim, without its waiting and writing.
void Instance::claim() {
  const std::string file = begin_.state_dir + "/lock";
  lock_.reset(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0)
    machine_.history.violation("two instances have {}", begin_.state_dir);
}

void Instance::open_to_hosts() {
  auto& keys = options_.secrets.keys;
  options_.hosts = begin_.hosts;
  for (std::uint32_t rank = 0; rank < begin_.hosts.size(); ++rank)
    ranks_[std::atoi(begin_.hosts[rank].c_str() + std::string_view("node").size())] = rank;
  for (const auto& secret : options_.secrets.agents) keys.agents.push_back(key_of(secret));
  keys.agents.front() = {};
  keys.server = key_of("broker");
  keys.join = key_of("join " + options_.runtime_dir);
  if (!is_root())
    options_.secrets.invitation = launch::write_invitation(
        {{Wires::address_for_keys(uri())}, keys.server.public_key, keys.join});
}

std::optional<std::uint32_t> Instance::rank_on(int host) const {
  const auto found = ranks_.find(host);
  return found == ranks_.end() ? std::nullopt : std::optional(found->second);
}

AgentProcess* Instance::agent_on(int host) const {
  const auto rank = rank_on(host);
  return rank ? agent(*rank) : nullptr;
}

void Instance::attach(std::uint32_t rank, AgentProcess* agent) {
  attached_[rank] = agent;
  if (rank >= begin_.hosts.size()) ranks_[agent->host()] = rank;
}

void Instance::join_by_hand(int host, const launch::Invitation& invitation, Duration lasts,
                            std::function<void()> placed) {
  const pid_t pid = machine_.new_pid();
  machine_.tasks.adopt(pid, 0);
  auto agent = std::make_unique<AgentProcess>(
      machine_, fmt::format("agent by hand on {}", Hosts::name_of(host)), pid,
      [this] { return over_ ? nullptr : this; }, host);
  agent->lasts = lasts;
  agent->on_place = std::move(placed);
  agent->on_death = [this, pid, host, raw = agent.get()](bool, int) {
    machine_.tasks.lose_agent(pid);
    all_.remove(*raw);
    clear_unknown_left_by(pid, rank_on(host).value_or(0));
  };
  agent->join_patiently(invitation, {-1, Hosts::name_of(host)});
  all_.add(std::move(agent));
}

AgentProcess* Instance::agent(std::uint32_t rank) const {
  if (rank < agents_.size() && agents_[rank].process) return agents_[rank].process.get();
  const auto attached = attached_.find(rank);
  return attached == attached_.end() ? nullptr : attached->second;
}

void Instance::later(Micros delay, std::function<void()> action) {
  machine_.timeline.after(delay,
                          [this, there = std::weak_ptr<bool>(there_), action = std::move(action)] {
                            if (!there.expired() && !over_) action();
                          });
}

void Instance::start_broker() {
  if (ending_ || broker_) return;
  const bool again = std::exchange(had_broker_, true);
  const pid_t pid = machine_.new_pid();
  machine_.tasks.adopt(pid, begin_.task);
  machine_.history.note("the broker of {} begins", begin_.path);
  broker_started_ = machine_.timeline.now();
  if (!again) begun_ = broker_started_;
  broker_ = std::make_unique<BrokerProcess>(
      machine_, "broker " + begin_.path, pid, options_,
      [this] {
        if (std::exchange(ready_, true)) return;
        machine_.history.note("instance {} is ready", begin_.path);
        on_ready(*this);
        if (begin_.program > 0) later(begin_.program, [this] { stop(); });
      },
      begin_.host);
  if (!begin_.user.empty()) broker_->act_as(uid_of(begin_.user));
  broker_->on_death = [this](bool killed, int code) { broker_ended(killed, code); };
  if (again && core() != nullptr) on_recovered(*this);
}

void Instance::broker_ended(bool killed, int code) {
  machine_.history.note("the broker of {} has ended: {}", begin_.path,
                        killed ? "killed" : std::to_string(code));
  broker_.reset();
  if (killed && machine_.planted(Plant::lost_commit)) machine_.disk.lose_unsynced(begin_.state_dir);
  if (killed && machine_.planted(Plant::old_journal)) machine_.disk.go_back(begin_.state_dir);
  if (killed && machine_.planted(Plant::orphans_in_memory))
    machine_.disk.forget(begin_.state_dir, "orphans");
  if (killed && machine_.planted(Plant::forgotten_outage))
    machine_.disk.forget(begin_.state_dir, "offline");
  if (killed && machine_.planted(Plant::forgotten_policy))
    machine_.disk.forget(begin_.state_dir, "meta", "key LIKE 'policy.live.%'");
  if (killed && machine_.planted(Plant::forgotten_guest))
    machine_.disk.forget(begin_.state_dir, "meta", "key = 'guests'");
  if (killed && machine_.planted(Plant::forgotten_loan))
    machine_.disk.forget(begin_.state_dir, "grant_entries");
  if (killed && machine_.planted(Plant::forgotten_batch))
    machine_.disk.forget(begin_.state_dir, "meta", "key = 'provisions'");
  if (killed && machine_.planted(Plant::forgotten_own))
    machine_.disk.change(
        begin_.state_dir,
        "UPDATE specs SET jobspec = replace(jobspec, '\"own\":true', '\"own\":false') "
        "WHERE jobspec LIKE '%\"own\":true%'");
  if (!killed && code == instance::kAgainLater) code_ = instance::kExitAgainLater;
  if (ending_) return finish_agents();
  if (!killed && (code == instance::kEndedInOrder || code == instance::kTimeIsOver ||
                  code == instance::kCannotStart || code == instance::kAgainLater)) {
    if (code != instance::kAgainLater && (!ready_ || code == instance::kCannotStart)) code_ = 1;
    return stop();
  }
  if (!killed && !ready_) {
    code_ = 1;
    return stop();
  }
  constexpr Micros kDiskPatience = kSecond;
  if (!killed && code == instance::kTryAgain) {
    const bool at_once = machine_.timeline.now() - broker_started_ > kDiskPatience;
    return later(at_once ? 0 : kDiskPatience, [this] { start_broker(); });
  }
  restart(broker_guard_, [this] { start_broker(); });
}

void Instance::restart(instance::CrashGuard& guard, const std::function<void()>& start) {
  const auto wait = guard.crashed(machine_.timeline.now() / kMs);
  if (wait) return later(*wait * kMs + machine_.dice.between(kMs, 30 * kMs), start);
  machine_.history.note("the supervisor of {} gives up", begin_.path);
  if (broker_) broker_->tell([](instance::Broker& broker) { broker.give_up_agent(); });
  if (ending_) return;
  code_ = 3;
  stop();
}

void Instance::start_agent(std::uint32_t rank) {
  if (agents_[rank].process) return;
  if (!needs_agent(rank)) {
    if (rank == 0 && broker_ && !alone_) later(kLookForAsk, [this, rank] { start_agent(rank); });
    return;
  }
  constexpr Micros kAgain = 500 * kMs;
  const int host = static_cast<int>(rank);
  if (is_far(rank) && (!machine_.hosts.is_up(host) || all_.is_added_by_hand(host)))
    return later(kAgain, [this, rank] { start_agent(rank); });
  begin_agent(rank);
}

void Instance::begin_agent(std::uint32_t rank) {
  const pid_t pid = machine_.new_pid();
  machine_.tasks.adopt(pid, begin_.task);
  const std::string name =
      rank == 0 ? "agent " + begin_.path : fmt::format("agent {} of {}", rank, begin_.path);
  const int host = is_far(rank) ? static_cast<int>(rank) : begin_.host;
  auto& agent = agents_[rank].process;
  agent = std::make_unique<AgentProcess>(
      machine_, name, pid, [this] { return this; }, host);
  agent->on_death = [this, rank](bool killed, int code) {
    if (killed || code != launch::kAgentDone || ending_)
      machine_.tasks.lose_agent(agents_[rank].process->pid());
    agent_ended(rank, killed, code);
  };
  if (is_far(rank)) {
    agent->on_place = [this, host] { on_place(host); };
    const auto& keys = options_.secrets.keys;
    return agent->join(Wires::address_for_keys(uri()),
                       {keys.server.public_key, keys.join.public_key, keys.join.secret_key},
                       {-1, Hosts::name_of(host)});
  }
  launch::AgentOptions how;
  how.broker_uri = uri();
  how.secret = options_.secrets.agents.at(rank);
  how.rank = rank;
  how.hostname = has_hosts() ? begin_.hosts[rank] : Hosts::name_of(static_cast<int>(rank));
  agent->begin(std::move(how));
}

void Instance::agent_ended(std::uint32_t rank, bool killed, int code) {
  // The agent's node leaves the instance in order: no other agent is started there.
  const bool has_left = begin_.late > 0 && is_far(rank) && !killed && code == launch::kAgentDone;
  const pid_t pid = agents_[rank].process->pid();
  agents_[rank].process.reset();
  if (ending_) return agent_ended_at_end(rank, pid);
  if (is_far(rank) && !has_left) return far_agent_ended(rank, pid);
  if (has_left) return;
  constexpr Micros kAgentPatience = 3 * kSecond;
  // The agent's leftovers end before another one begins: by the supervisor, or, as far as the
  // broker knows of them, by that other agent.
  const bool looks = machine_.dice.one_in(2);
  later(killed ? machine_.dice.between(0, 3 * kMs) : kAgentPatience, [this, rank, pid, looks] {
    if (ending_) return agent_ended_at_end(rank, pid);
    if (looks)
      machine_.tasks.clear_left_by(pid);
    else
      clear_unknown_left_by(pid, rank);
    restart(agents_[rank].guard, [this, rank] { start_agent(rank); });
  });
}

void Instance::clear_unknown_left_by(pid_t agent, std::uint32_t rank) {
  // A broker that could not write knows what the one after it does not.
  if (core() == nullptr || !core()->journal.look())
    machine_.tasks.clear_left_by(agent);
  else
    machine_.tasks.clear_unknown_left_by(agent, *core(), rank);
}

// A far agent has no supervisor. Leftovers that the broker knows are left to the next agent; the
// launcher ends the others, with its step.
void Instance::far_agent_ended(std::uint32_t rank, pid_t pid) {
  clear_unknown_left_by(pid, rank);
  const Micros wait = machine_.dice.one_in(3) ? machine_.dice.between(kSecond, 15 * kSecond)
                                              : machine_.dice.between(10 * kMs, kSecond);
  later(wait, [this, rank] { start_agent(rank); });
}

// Is another agent needed? At the end only if the broker asks for it, as with the supervisor.
bool Instance::needs_agent(std::uint32_t rank) const {
  if (!ending_) return true;
  const auto* const its = rank == 0 && !alone_ ? core() : nullptr;
  return its != nullptr && its->needs_agent_to_end();
}

void Instance::agent_ended_at_end(std::uint32_t rank, pid_t pid) {
  if (rank != 0 || !broker_ || alone_) return finish_if_all_gone();
  if (!needs_agent(rank))
    return later(kLookForAsk, [this, rank, pid] { agent_ended_at_end(rank, pid); });
  machine_.tasks.clear_left_by(pid);
  restart(agents_[rank].guard, [this, rank] { start_agent(rank); });
}

bool Instance::has_agents() const {
  return std::any_of(agents_.begin(), agents_.end(),
                     [](const Agent& agent) { return agent.process != nullptr; });
}

void Instance::kill_agents(const std::string& how) {
  for (const Agent& agent : agents_)
    if (agent.process) agent.process->kill(how);
}

void Instance::on_signal(int number) {
  if (over_) return;
  if (number == SIGKILL) {
    const pid_t task = begin_.task;
    machine_.tasks.kill_below(task);
    vanish();
    machine_.tasks.end(task, SIGKILL);
    return;
  }
  code_ = 128 + number;
  stop();
}

void Instance::stop() {
  if (over_) return;
  if (broker_) {
    const bool again = ending_;
    broker_->tell(
        [again](instance::Broker& broker) { again ? broker.hurry() : broker.end_by_signal(); });
  }
  if (std::exchange(ending_, true)) return;
  machine_.history.note("instance {} is to end", begin_.path);
  on_ending(*this);
  // As instance/assembly/supervisor.cpp waits.
  const auto config = config::load_config(begin_.conf);
  later((config.value_or(config::Config()).shutdown_timeout + 20'000) * kMs, [this] {
    if (broker_) broker_->kill("by its supervisor");
    kill_agents("by its supervisor");
  });
  if (!broker_) finish_agents();
}

void Instance::lose_supervisor() {
  if (ending_ || over_) return;
  machine_.history.note("the supervisor of {} is killed", begin_.path);
  on_ending(*this);
  ending_ = alone_ = true;
  if (broker_)
    broker_->tell([](instance::Broker& broker) { broker.end_alone("its supervisor is gone"); });
  for (const Agent& one : agents_)
    if (one.process) one.process->tell([](launch::Agent& agent) { agent.lose_supervisor(); });
  later(60 * kSecond, [this] {
    if (broker_) broker_->kill("at last");
    kill_agents("at last");
  });
  finish_if_all_gone();
}

void Instance::finish_agents() {
  if (!has_agents() || alone_) return finish_if_all_gone();
  for (const Agent& one : agents_)
    if (one.process) one.process->tell([](launch::Agent& agent) { agent.shut_down(2'000); });
  later(3 * kSecond, [this] { kill_agents("by its supervisor"); });
}

void Instance::finish_if_all_gone() {
  if (broker_ || has_agents()) return;
  machine_.tasks.kill_below(begin_.task);
  become_over(code_ << 8);
}

void Instance::vanish() {
  over_ = true;
  lock_.reset();
  on_ending(*this);
  if (broker_) broker_->kill("with its instance");
  kill_agents("with its instance");
  if (broker_) broker_->on_death = [this](bool, int) { broker_.reset(); };
  for (Agent& one : agents_)
    if (one.process)
      one.process->on_death = [this, &one](bool, int) {
        machine_.tasks.lose_agent(one.process->pid());
        one.process.reset();
      };
}

void Instance::become_over(int status) {
  over_ = true;
  lock_.reset();
  machine_.history.note("instance {} is over", begin_.path);
  machine_.tasks.end(begin_.task, status);
}

const Instance* Instance::above() const {
  if (is_root()) return nullptr;
  const auto cut = begin_.path.rfind('/');
  return all_.find(cut == 0 ? "/" : begin_.path.substr(0, cut));
}

}  // namespace holon::world
