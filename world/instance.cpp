#include "world/instance.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>

#include "instance/exit_codes.hpp"
#include "transport/codec/codec.hpp"
#include "transport/secret.hpp"
#include "world/machine.hpp"

namespace holon::world {

namespace fs = std::filesystem;

namespace {

std::string node_name(std::uint32_t rank) {
  return "node" + std::to_string(rank);
}

// Nobody encrypts here: only who shows which key counts.
transport::KeyPair key_of(const std::string& whose) {
  return {"public " + whose, "secret " + whose};
}

}  // namespace

BrokerProcess::BrokerProcess(Machine& machine, const std::string& name, pid_t pid,
                             instance::BrokerOptions options, std::function<void()> on_ready,
                             int host)
    : Process(machine, name, pid, host) {
  // What listens for agents on other hosts: any descriptor, as the network is the world's.
  if (!options.hosts.empty()) options.socket = open("/dev/null", O_RDONLY | O_CLOEXEC);
  run([&] {
    auto broker = instance::Broker::create(
        reactor(), options, nullptr,
        [&machine](std::int64_t process, const std::vector<instance::event::Process>& ancestors) {
          return machine.tasks.belongs_to(process, ancestors);
        });
    if (!broker) {
      if (alive()) machine.history.note("{} cannot begin: {}", name, to_string(broker.error()));
      close(options.socket);  // where nobody has taken it over
      return exit(broker.error().code == Errc::system ? instance::kTryAgain
                                                      : instance::kCannotStart);
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

AgentProcess::AgentProcess(Machine& machine, const std::string& name, pid_t pid, Instance& owner,
                           int host)
    : Process(machine, name, pid, host), machine_of_(machine), owner_(owner) {}

void AgentProcess::begin(launch::AgentOptions how) {
  run([&] {
    how.log_level = "off";
    auto agent = launch::Agent::create(
        reactor(), std::move(how),
        {launch::Node{}, launch::NodeFrame{}, machine_of_.tasks.processes_of(*this, owner_)});
    if (!agent)
      return machine_of_.history.violation("{} cannot begin: {}", name(), to_string(agent.error()));
    agent_ = std::move(*agent);
  });
}

void AgentProcess::join(const std::string& address, const transport::Security& as,
                        std::uint32_t rank) {
  invited_ = as;
  run([&] {
    transport::Options options;
    options.name = "agent, joining";
    options.security = as;
    auto client = transport::Client::connect(reactor(), address, options);
    joining_ = std::move(*client);
    const launch::msg::JoinRequest ask{-1, node_name(rank)};
    constexpr Duration kPatience = 60'000;
    joining_->call(
        {"agent.join", transport::pack(ask), "", kPatience},
        [this, address](const Result<std::string>& answer) { hear_place(address, answer); });
  });
}

void AgentProcess::hear_place(const std::string& address, const Result<std::string>& answer) {
  if (!answer) return exit(launch::kAgentCouldNotBegin);
  const auto place = transport::unpack<launch::msg::JoinReply>(*answer);
  if (!place) return machine_of_.history.violation("{} is given rubbish for a place", name());
  launch::AgentOptions how;
  how.broker_uri = address;
  how.secret = place->secret;
  how.rank = place->rank;
  how.hostname = place->host;
  how.orphan_timeout = place->orphan_timeout;
  how.security = {invited_.server_public_key, place->public_key, place->secret_key};
  reactor().defer([this, how] {
    joining_.reset();
    begin(how);
  });
}

AgentProcess::~AgentProcess() {
  machine_of_.tasks.agent_is_gone(*this);
  run([this] {
    joining_.reset();
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

Instance::Instance(Machine& machine, Instances& all, Begin begin)
    : machine_(machine), all_(all), begin_(std::move(begin)), agents_(begin_.agents) {
  options_.start.state_dir = begin_.state_dir;
  options_.start.conf = begin_.conf;
  options_.start.resources = begin_.resources;
  options_.start.grant = !is_root();
  options_.runtime_dir = machine_.dir + "/r" + std::to_string(machine_.new_pid());
  options_.binary = "holon";
  options_.parent_uri = begin_.parent_uri;
  options_.job_path = is_root() ? "" : begin_.path;
  for (std::uint32_t rank = 0; rank < begin_.agents; ++rank)
    options_.secrets.agents.push_back(fmt::format("agent {} of {}", rank, options_.runtime_dir));
  for (std::uint32_t rank = 0; has_hosts() && rank < begin_.hosts; ++rank) {
    options_.hosts.push_back(node_name(rank));
    options_.secrets.keys.agents.push_back(rank == 0 ? transport::KeyPair()
                                                     : key_of(options_.secrets.agents[rank]));
  }
  if (has_hosts()) {
    options_.secrets.keys.server = key_of("broker");
    options_.secrets.keys.join = key_of("join " + options_.runtime_dir);
  }
  options_.secrets.token = begin_.token;
  for (const auto& dir : {options_.runtime_dir, begin_.state_dir}) fs::create_directories(dir);
  later(machine_.dice.between(kMs, 20 * kMs), [this] {
    start_broker();
    for (std::uint32_t rank = 0; rank < begin_.agents; ++rank) start_agent(rank);
  });
  if (machine_.planted(Plant::stale_remains) || machine_.planted(Plant::old_journal))
    later(2 * kSecond, [this] { machine_.disk.take_snapshot(begin_.state_dir); });
}

Instance::~Instance() = default;

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
  broker_ = std::make_unique<BrokerProcess>(
      machine_, "broker " + begin_.path, pid, options_,
      [this] {
        if (std::exchange(ready_, true)) return;
        machine_.history.note("instance {} is ready", begin_.path);
        if (begin_.program > 0) later(begin_.program, [this] { stop(); });
      },
      begin_.host);
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
    machine_.disk.forget(begin_.state_dir, "meta WHERE key LIKE 'policy.live.%'");
  if (ending_) return finish_agents();
  if (!killed && (code == instance::kEndedInOrder || code == instance::kTimeIsOver ||
                  code == instance::kCannotStart)) {
    if (!ready_ || code == instance::kCannotStart) code_ = 1;
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
  code_ = 3;
  stop();
}

void Instance::start_agent(std::uint32_t rank) {
  if (ending_ || agents_[rank].process) return;
  constexpr Micros kAgain = 500 * kMs;
  if (is_far(rank) && !machine_.hosts.is_up(static_cast<int>(rank)))
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
  agent = std::make_unique<AgentProcess>(machine_, name, pid, *this, host);
  agent->on_death = [this, rank](bool killed, int code) {
    if (killed || code != launch::kAgentDone || ending_)
      machine_.tasks.lose_agent(agents_[rank].process->pid());
    agent_ended(rank, killed);
  };
  if (is_far(rank)) {
    const auto& keys = options_.secrets.keys;
    return agent->join(Wires::address_for_keys(uri()),
                       {keys.server.public_key, keys.join.public_key, keys.join.secret_key}, rank);
  }
  launch::AgentOptions how;
  how.broker_uri = uri();
  how.secret = options_.secrets.agents.at(rank);
  how.rank = rank;
  how.hostname = node_name(rank);
  agent->begin(std::move(how));
}

void Instance::agent_ended(std::uint32_t rank, bool killed) {
  const pid_t pid = agents_[rank].process->pid();
  agents_[rank].process.reset();
  if (ending_) return finish_if_all_gone();
  if (is_far(rank)) return far_agent_ended(rank, pid);
  constexpr Micros kAgentPatience = 3 * kSecond;
  // What the agent left is ended before another one begins: by the supervisor, or, as far as the
  // broker knows of it, by that other agent.
  const bool looks = machine_.dice.one_in(2);
  later(killed ? machine_.dice.between(0, 3 * kMs) : kAgentPatience, [this, rank, pid, looks] {
    if (looks || core() == nullptr)
      machine_.tasks.clear_left_by(pid);
    else
      machine_.tasks.clear_unknown_left_by(pid, *core(), rank);
    restart(agents_[rank].guard, [this, rank] { start_agent(rank); });
  });
}

// No supervisor looks after it. What the broker knows of is left to the next agent; what it does
// not is ended by the launcher, with its step.
void Instance::far_agent_ended(std::uint32_t rank, pid_t pid) {
  if (core() == nullptr)
    machine_.tasks.clear_left_by(pid);
  else
    machine_.tasks.clear_unknown_left_by(pid, *core(), rank);
  const Micros wait = machine_.dice.one_in(3) ? machine_.dice.between(kSecond, 15 * kSecond)
                                              : machine_.dice.between(10 * kMs, kSecond);
  later(wait, [this, rank] { start_agent(rank); });
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
    machine_.tasks.kill_below(begin_.path == "/" ? "" : begin_.path);
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
    broker_->tell([again](instance::Broker& broker) {
      again ? broker.hurry() : broker.end("it was told to stop");
    });
  }
  if (std::exchange(ending_, true)) return;
  machine_.history.note("instance {} is to end", begin_.path);
  later(25 * kSecond, [this] {
    if (broker_) broker_->kill("by its supervisor");
    kill_agents("by its supervisor");
  });
  if (!broker_) finish_agents();
}

void Instance::lose_supervisor() {
  if (ending_ || over_) return;
  machine_.history.note("the supervisor of {} is killed", begin_.path);
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
  machine_.tasks.kill_below(begin_.path == "/" ? "" : begin_.path);
  become_over(code_ << 8);
}

void Instance::vanish() {
  over_ = true;
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
  machine_.history.note("instance {} is over", begin_.path);
  machine_.tasks.end(begin_.task, status);
  on_over();
}

namespace {

// What the agent hands over in a descriptor: "KEY=VALUE", each with a zero behind it.
std::map<std::string, std::string> secrets_in(int fd) {
  std::map<std::string, std::string> secrets;
  const auto text = transport::take_secret(fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  for (std::size_t at = 0; text && at < text->size();) {
    const std::string entry = text->c_str() + at;
    at += entry.size() + 1;
    const auto cut = entry.find('=');
    if (cut != std::string::npos) secrets[entry.substr(0, cut)] = entry.substr(cut + 1);
  }
  return secrets;
}

}  // namespace

// argv: "instance", how many ms its program runs, how many agents it has, --conf items.
void Instance::begin_child(Task& task, const launch::SpawnRequest& request) {
  Begin child;
  child.path = task.path;
  child.task = task.pid;
  child.host = task.host;
  auto secrets = secrets_in(request.secrets);
  child.state_dir = secrets["HOLON_STATE_DIR"];
  child.parent_uri = secrets["HOLON_PARENT_URI"];
  child.token = secrets["HOLON_TOKEN"];
  child.program = std::strtoll(request.argv[1].c_str(), nullptr, 10) * kMs;
  child.agents = static_cast<std::uint32_t>(std::strtoul(request.argv[2].c_str(), nullptr, 10));
  child.conf.assign(request.argv.begin() + 3, request.argv.end());
  auto made = std::make_unique<Instance>(machine_, all_, std::move(child));
  task.instance = made.get();
  all_.add(std::move(made));
}

}  // namespace holon::world
