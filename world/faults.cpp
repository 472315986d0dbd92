// What happens to a world.
#include <csignal>

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
  return instance.agent(
      static_cast<std::uint32_t>(machine_.dice.between(0, std::int64_t{instance.agents()} - 1)));
}

void World::kill_broker(Instance& instance) {
  // What could not be written is thrown away with its broker.
  if (const auto* core = instance.core();
      core != nullptr && !core->only_lists() && core->journal.look())
    held_[instance.path()] = Checks::held_by(*core);
  look_at(instance);
  if (instance.broker() != nullptr) instance.broker()->kill("");
}

void World::fail_something() {
  auto& dice = machine_.dice;
  Process* const process = some_process();
  Instance* const instance = some_instance(false);
  if (instance == nullptr) return;
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

void World::fill_disk(Instance& instance) {
  const std::string dir = instance.state_dir();
  machine_.history.note("the disk of {} is full", instance.path());
  machine_.disk.fill(dir);
  machine_.timeline.after(machine_.dice.between(300, 4'000) * kMs, [this, dir] {
    machine_.history.note("the disk has room again");
    machine_.disk.free(dir);
  });
}

void World::send_ghost() {
  std::vector<Instance*> children;
  for (Instance* instance : up())
    if (!instance->is_root()) children.push_back(instance);
  if (children.empty()) return;
  const Instance& child = *children[static_cast<std::size_t>(
      machine_.dice.between(0, static_cast<std::int64_t>(children.size()) - 1))];
  const bool belongs = machine_.dice.one_in(2);
  msg::Hello hello;
  hello.token = child.token();
  hello.job = std::strtoull(child.path().c_str() + child.path().rfind('/') + 1, nullptr, 10);
  hello.uri = "ipc:///ghost";
  hello.epoch = belongs ? 1'000 : 0;
  const pid_t pid = machine_.new_pid();
  machine_.tasks.adopt(pid, belongs ? child.task() : 0);
  machine_.history.note("a ghost of {} says hello, {}", child.path(),
                        belongs ? "with an epoch that is not its own" : "from outside of the job");
  ghosts_.push_back(std::make_unique<Ghost>(
      machine_, pid, child.parent_uri(), transport::pack(hello), [this, path = child.path()] {
        machine_.history.violation("a ghost is taken for the instance {}", path);
      }));
  ghosts_.back()->on_death = [this, ghost = ghosts_.back().get()](bool, int) {
    std::erase_if(ghosts_, [ghost](const auto& one) { return one.get() == ghost; });
  };
}

void World::lose_power() {
  machine_.history.note("the power fails");
  Instance* const old = root_;
  machine_.tasks.kill_below("");
  old->vanish();
  machine_.timeline.after(kMs, [this] { machine_.disk.lose_power(); });
}

}  // namespace holon::world
