// What happens to a world.
#include <algorithm>
#include <csignal>

#include "launch/messages.hpp"
#include "transport/codec/codec.hpp"
#include "world/world.hpp"

namespace holon::world {

void World::fail_later() {
  machine_.timeline.after(machine_.dice.between(100, 2'500) * kMs, [this] {
    if (calm_) return;
    fail_something();
    fail_later();
  });
}

Process* World::some_process() {
  Instance* const instance = some_instance(false);
  if (instance == nullptr) return nullptr;
  if (machine_.dice.one_in(2)) return some_agent(*instance);
  return instance->broker();
}

AgentProcess* World::some_agent(const Instance& instance) {
  std::uint32_t last = instance.agents() - 1;
  if (machine_.edition >= 9)
    for (const auto& [host, rank] : instance.ranks()) last = std::max(last, rank);
  return instance.agent(static_cast<std::uint32_t>(machine_.dice.between(0, std::int64_t{last})));
}

void World::kill_broker(Instance& instance) {
  // Changes that could not be written are thrown away with their broker.
  if (const auto* core = instance.core();
      core != nullptr && !core->read_only() && core->journal.look())
    held_[instance.path()] = Checks::held_by(*core);
  look_at(instance);
  if (instance.broker() != nullptr) instance.broker()->kill("");
}

void World::fail_something() {
  auto& dice = machine_.dice;
  Process* const process = some_process();
  Instance* const instance = some_instance(false);
  if (instance == nullptr) return;
  if (has_batch_ && dice.one_in(6)) return fail_batch_system();
  if (has_hosts_ && dice.one_in(2)) return fail_a_host();
  switch (dice.between(1, 16)) {
    case 1:
    case 2:
      return kill_broker(*instance);
    case 3:
    case 4:
      if (AgentProcess* const agent = some_agent(*instance)) agent->kill("");
      return;
    case 5:
    case 6:
    case 7:
      if (process != nullptr) process->kill_after(dice.between(1, 40));
      return;
    case 8:
    case 9:
      return machine_.wires.break_one();
    case 10:
      return machine_.wires.hold_one(dice.between(50, 6'000) * kMs);
    case 11:
      if (process != nullptr) process->stall(dice.between(5, 3'000) * kMs);
      return;
    case 12:
      return fill_disk(*instance);
    case 13: {
      const Micros by = dice.between(-3'600, 3'600) * kSecond;
      machine_.history.note("the wall clock is set by {} s", by / kSecond);
      return machine_.timeline.set_wall_clock(by);
    }
    case 14:
      if (!instance->is_root()) {
        look_at(*instance);
        machine_.history.note("all of instance {} is killed", instance->path());
        instance->on_signal(SIGKILL);
      }
      return;
    case 15:
      return send_ghost();
    default:
      if (root_ == nullptr || !dice.one_in(3)) return;
      return may_lose_power_ ? lose_power() : root_->lose_supervisor();
  }
}

// The broker's host is cut off like any other, but does not die alone.
void World::fail_a_host() {
  auto& dice = machine_.dice;
  const int last = root_ == nullptr ? 0 : root_->ranks().rbegin()->first;
  if (last == 0) return;
  const int host = static_cast<int>(dice.between(1, last));
  switch (dice.between(1, 8)) {
    case 1:
    case 2:
      return machine_.wires.cut(static_cast<int>(dice.between(0, last)),
                                dice.between(100, 6'000) * kMs);
    case 3:
    case 4:
      return cut_for_long(static_cast<int>(dice.between(0, last)));
    case 5:
      return lose_host(host);
    case 6:
      if (AgentProcess* const agent = root_->agent_on(host)) agent->kill("");
      return;
    default:
      return machine_.wires.lose_one(dice.between(10, 6'000) * kMs);
  }
}

// A process on the broker's host claims to be the agent of rank `rank`, and to have found nothing
// that runs there.
void World::offer_early(std::uint32_t rank) {
  launch::msg::Hello hello;
  hello.rank = rank;
  hello.secret = root_->agent_secret(rank);
  hello.incarnation = static_cast<std::uint64_t>(machine_.new_pid());
  hello.swept = true;
  machine_.history.note("PLANT: the node of rank {} is offered", rank);
  add_ghost(machine_.new_pid(), {root_->uri(), "agent.hello", transport::pack(hello)}, [] {});
}

void World::cut_for_long(int host) {
  Micros lasts = rejoin_timeout_ + machine_.dice.between(0, 12'000) * kMs;
  const auto when_ready = [&](Micros delay, const std::function<void()>& action) {
    machine_.timeline.after(delay, [this, action] {
      if (root_ != nullptr && root_->ready()) action();
    });
  };
  const auto rank = root_->rank_on(host).value_or(0);
  if (rank > 0 && rank < root_->agents() && machine_.planted(Plant::early_offer))
    when_ready(5 * kSecond, [this, rank] { offer_early(rank); });
  // State that an ending broker forgets is missed if it ends now.
  if (host > 0 && machine_.planted(Plant::orphans_in_memory))
    when_ready(kSecond, [this, host] {
      if (AgentProcess* const agent = root_->agent_on(host)) agent->kill("");
    });
  if (host > 0 &&
      (machine_.planted(Plant::orphans_in_memory) || machine_.planted(Plant::forgotten_outage))) {
    lasts += 6 * kSecond;
    when_ready(lasts - kSecond, [this] { kill_broker(*root_); });
  }
  machine_.wires.cut(host, lasts);
}

void World::lose_host(int host) {
  if (!machine_.hosts.is_up(host)) return;
  machine_.history.note("host {} dies", host);
  machine_.hosts.die(host);
  machine_.wires.host_died(host);
  machine_.tasks.host_died(host);
  if (AgentProcess* const agent = root_->agent_on(host)) agent->kill("with its host");
  for (const auto& agent : loose_)
    if (agent->host() == host) agent->kill("with its host");
  machine_.timeline.after(machine_.dice.between(200, 15'000) * kMs, [this, host] {
    machine_.history.note("host {} is back", host);
    machine_.hosts.come_back(host);
  });
}

void World::fill_disk(Instance& instance) {
  const std::string dir = instance.state_dir();
  machine_.history.note("the disk of {} is full", instance.path());
  machine_.disk.fill(dir);
  machine_.timeline.after(machine_.dice.between(300, 4'000) * kMs, [this, dir] {
    machine_.history.note("the disk has room again");
    machine_.disk.free(dir);
  });
}

// An agent on the broker's host shows a secret that it has guessed.
void World::send_forged_agent() {
  Instance* const instance = some_instance(true);
  if (instance == nullptr) return;
  launch::msg::Hello hello;
  hello.secret = "guessed";
  hello.incarnation = static_cast<std::uint64_t>(machine_.new_pid());
  hello.swept = true;
  machine_.history.note("somebody says to be the agent of {}", instance->path());
  if (machine_.planted(Plant::forged_agent)) hello.secret = instance->agent_secret(0);
  add_ghost(machine_.new_pid(), {instance->uri(), "agent.hello", transport::pack(hello)},
            [this, path = instance->path()] {
              machine_.history.violation("somebody is taken for the agent of {}", path);
            });
}

void World::send_ghost() {
  if (machine_.edition >= 2 && machine_.dice.one_in(3)) return send_forged_agent();
  std::vector<Instance*> children;
  for (Instance* instance : up())
    if (!instance->is_root()) children.push_back(instance);
  if (children.empty()) return;
  const Instance& child = *children[static_cast<std::size_t>(
      machine_.dice.between(0, static_cast<std::int64_t>(children.size()) - 1))];
  // A broker sees the processes of its own host only: a child elsewhere, or one that reaches it
  // through an agent, it knows by the token alone.
  const Instance* const parent = parent_of(child);
  const bool is_direct = parent != nullptr && child.parent_uri() == parent->uri();
  const bool belongs = machine_.dice.one_in(2) || has_hosts_ || !is_direct;
  msg::Hello hello;
  hello.token = child.token();
  hello.job = std::strtoull(child.path().c_str() + child.path().rfind('/') + 1, nullptr, 10);
  hello.uri = "ipc:///ghost";
  hello.epoch = belongs ? 1'000 : 0;
  const pid_t pid = machine_.new_pid();
  machine_.tasks.adopt(pid, belongs ? child.task() : 0);
  machine_.history.note("a ghost of {} says hello, {}", child.path(),
                        belongs ? "with an epoch that is not its own" : "from outside of the job");
  add_ghost(pid, {child.parent_uri(), "hello", transport::pack(hello)},
            [this, path = child.path()] {
              machine_.history.violation("a ghost is taken for the instance {}", path);
            });
}

void World::add_ghost(pid_t pid, const Ghost::Words& words, std::function<void()> taken) {
  ghosts_.push_back(std::make_unique<Ghost>(machine_, pid, words, std::move(taken)));
  ghosts_.back()->on_death = [this, ghost = ghosts_.back().get()](bool, int) {
    std::erase_if(ghosts_, [ghost](const auto& one) { return one.get() == ghost; });
  };
}

void World::lose_power() {
  machine_.history.note("the power fails");
  Instance* const old = root_;
  machine_.tasks.kill_below(0);
  old->vanish();
  machine_.timeline.after(kMs, [this] { machine_.disk.lose_power(); });
}

}  // namespace holon::world
