#include "world/seams/process.hpp"

#include <unistd.h>

#include <exception>

#include "transport/network.hpp"
#include "world/machine.hpp"

namespace holon::world {

Process::Process(Machine& machine, std::string name, pid_t pid, int host)
    : machine_(machine),
      name_(std::move(name)),
      pid_(pid),
      host_(host),
      uid_(geteuid()),
      network_(machine.wires.port(*this)) {
  auto reactor = transport::Reactor::create(network_.get());
  if (!reactor) {
    machine_.history.violation("{}: no reactor: {}", name_, to_string(reactor.error()));
    return;
  }
  reactor_ = std::move(*reactor);
  schedule(machine_.timeline.now());
}

Process::~Process() {
  alive_ = false;
  machine_.wires.gone(*this);
  close_reactor();
}

void Process::close_reactor() {
  run([this] { reactor_.reset(); });
}

void Process::run(const std::function<void()>& action) {
  Process* const before = std::exchange(machine_.current, this);
  try {
    action();
  } catch (const std::exception& e) {
    if (alive_) machine_.history.violation("{} threw: {}", name_, e.what());
  }
  machine_.current = before;
}

void Process::deliver(std::function<void()> action) {
  if (!alive_) return;
  inbox_.push_back(std::move(action));
  const bool busy = machine_.dice.one_in(20);
  schedule(machine_.timeline.now() + machine_.dice.between(1, busy ? 20 * kMs : 300));
}

void Process::stall(Micros duration) {
  stalled_until_ = machine_.timeline.now() + duration;
  if (next_turn_ < 0) return;
  next_turn_ = -1;
  schedule(stalled_until_);
}

void Process::schedule(Micros when) {
  if (when < stalled_until_) when = stalled_until_;
  if (next_turn_ >= 0 && next_turn_ <= when) return;
  next_turn_ = when;
  const std::uint64_t token = ++turn_token_;
  machine_.timeline.at(when, [this, there = std::weak_ptr<bool>(there_), token] {
    if (!there.expired() && token == turn_token_) turn();
  });
}

void Process::turn() {
  next_turn_ = -1;
  if (over_) return;
  run([this] {
    for (auto& action : std::exchange(inbox_, {})) reactor_->defer(std::move(action));
    reactor_->turn(0);
    after_turn();
  });
  if (!alive_ || exited_) return announce_death();
  constexpr Micros kShortestTurn = 20;
  const Duration idle = reactor_->idle_for();
  if (!inbox_.empty() || idle == 0)
    schedule(machine_.timeline.now() + kShortestTurn);
  else if (idle > 0)
    schedule(machine_.timeline.now() + idle * kMs);
}

bool Process::has_effect() {
  if (!alive_) return false;
  if (effects_left_ > 0 && --effects_left_ == 0) {
    kill("between two of its effects");
    return false;
  }
  return true;
}

void Process::kill(const std::string& why) {
  if (!alive_) return;
  alive_ = false;
  machine_.history.note("{} is killed {}", name_, why);
  machine_.wires.gone(*this);
  if (machine_.current != this) announce_death();
}

void Process::exit(int code) {
  if (exited_) return;
  exited_ = true;
  code_ = code;
  schedule(machine_.timeline.now());
}

void Process::announce_death() {
  if (std::exchange(over_, true)) return;
  machine_.timeline.after(0, [this, there = std::weak_ptr<bool>(there_)] {
    if (there.expired() || !on_death) return;
    const auto told = on_death;  // it destroys this
    told(!alive_, code_);
  });
}

}  // namespace holon::world
