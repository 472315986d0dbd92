// Children that ask for more and give it back, and parents that recall it (holon grant).
#include <algorithm>
#include <cstdlib>

#include "instance/basics/clock.hpp"
#include "msg/grant.hpp"
#include "transport/codec/codec.hpp"
#include "world/world.hpp"

namespace holon::world {
namespace {

std::uint64_t number_in_parent(const Instance& child) {
  return std::strtoull(child.path().c_str() + child.path().rfind('/') + 1, nullptr, 10);
}

// What the child has beyond its own, by its own book.
std::vector<holdings::Holding> extra_of(const Instance& child) {
  std::vector<holdings::Holding> extra;
  if (const auto* core = child.core())
    for (const auto& holding : link_to(core->grants.book(), holdings::kParent).holdings)
      if (holding.source != holdings::Source::owned) extra.push_back(holding);
  return extra;
}

}  // namespace

// A child, more often one that has something to give back; nullptr: there is none.
Instance* World::some_child() {
  std::vector<Instance*> all, lent;
  for (Instance* instance : up()) {
    if (instance->is_root()) continue;
    all.push_back(instance);
    if (!extra_of(*instance).empty()) lent.push_back(instance);
  }
  const auto& chosen = lent.empty() || machine_.dice.one_in(3) ? all : lent;
  if (chosen.empty()) return nullptr;
  const auto last = static_cast<std::int64_t>(chosen.size()) - 1;
  return chosen[static_cast<std::size_t>(machine_.dice.between(0, last))];
}

void World::move_grant() {
  Instance* const child = some_child();
  if (child == nullptr) return;
  if (machine_.edition >= 11 && machine_.dice.one_in(3)) return lend_or_have_back(*child);
  if (fence_ > 0 && !extra_of(*child).empty() && machine_.dice.one_in(2))
    return recall_grant(*child);
  switch (machine_.dice.between(1, 20)) {
    case 1:
    case 2:
    case 11:
      return recall_grant(*child);
    case 3:
      recall_grant(*child);  // and the child gives back meanwhile
      return release_grant(*child);
    case 4:
      ask_for_more(*child);  // and the two cross
      return recall_grant(*child);
    case 5:
    case 6:
    case 7:
      return release_grant(*child);
    case 8:
    case 9:
    case 10:
      return cancel_grant(*child);
    default:
      return ask_for_more(*child);
  }
}

void World::ask_for_more(Instance& child) {
  auto& dice = machine_.dice;
  Ask more;
  more.command = {"grant"};
  more.cores = dice.one_in(3) ? 2 : 1;
  more.tasks = dice.one_in(3) ? 2 : 1;
  if (has_gpus_ && dice.one_in(2)) more.gpus = 1;
  if (machine_.edition >= 9 && has_hosts_ && dice.one_in(2)) {
    want_nodes(more);
    more.is_whole = true;
  }
  more.limit = dice.one_in(3) ? 0 : static_cast<double>(dice.between(1, 8));
  more.is_immediate = dice.one_in(4);
  const bool dies = has_faults_ && more.limit > 0 && dice.one_in(3);
  user_->ask(
      child.uri(), "grant.ask", transport::pack(msg::GrantAsk{jobspec_of(more)}),
      [this, path = child.path(), limit = more.limit, dies](const Result<std::string>& answer) {
        const auto got =
            answer ? transport::unpack<msg::GrantAnswer>(*answer) : tl::unexpected(answer.error());
        if (!got) return;
        machine_.history.note("{} gets {} cores and {} GPUs more{}", path, got->cores, got->gpus,
                              got->is_here ? "" : " later");
        if (got->is_here && dies) fail_as_it_ends(path, limit);
      });
}

// The time of a grant is over while one of the two brokers is dead, or stands still.
void World::fail_as_it_ends(const std::string& child, double limit) {
  auto& dice = machine_.dice;
  const Micros lasts = static_cast<Micros>(limit * kSecond);
  const Micros when = std::max<Micros>(0, lasts - dice.between(0, 60) * kMs);
  const bool above = dice.one_in(2), stalls = dice.one_in(2);
  const Micros for_so_long = dice.between(100, 4'000) * kMs;
  machine_.timeline.after(when, [this, child, above, stalls, for_so_long] {
    Instance* const below = find(child);
    Instance* const dies = below != nullptr && above ? parent_of(*below) : below;
    if (calm_ || dies == nullptr || dies->broker() == nullptr) return;
    stalls ? dies->broker()->stall(for_so_long) : kill_broker(*dies);
  });
}

void World::release_grant(Instance& child) {
  msg::GrantRelease what;
  const auto extra = extra_of(child);
  if (!extra.empty() && machine_.dice.one_in(2))
    what.units = std::to_string(extra.front().units.first());
  user_->ask(child.uri(), "grant.release", transport::pack(what),
             [this, path = child.path()](const Result<std::string>& answer) {
               if (answer) machine_.history.note("{} gives back what is not its own", path);
             });
}

void World::recall_grant(const Instance& child) {
  auto& dice = machine_.dice;
  const Instance* const parent = parent_of(child);
  if (parent == nullptr || !parent->ready()) return;
  msg::GrantRecall recall;
  recall.child = number_in_parent(child);
  recall.notice = dice.one_in(2) ? dice.between(0, 20) : dice.between(20, 3'000);
  recall.kill = dice.one_in(2);
  recall.reason = "a user says so";
  if (recall.kill) checks_.may_be_ended_below(child.path());
  user_->ask(parent->uri(), "grant.recall", transport::pack(recall),
             [this, path = child.path(), kill = recall.kill](const Result<std::string>& answer) {
               if (answer)
                 machine_.history.note("{} is to give back what is not its own{}", path,
                                       kill ? ", and what runs there ends" : "");
             });
  if (has_faults_ && fence_ > 0 && !dice.one_in(4)) lose_sight_of(child.path());
}

// A child is out of reach as something is recalled, for longer than its parent waits or not; or its
// parent dies while it takes that back.
void World::lose_sight_of(const std::string& child) {
  auto& dice = machine_.dice;
  const auto how = dice.between(1, 5);
  const Micros lasts = dice.between(fence_, 3 * fence_ + 4'000) * kMs;
  machine_.timeline.after(dice.between(0, 60) * kMs, [this, child, how, lasts] {
    Instance* const below = find(child);
    if (calm_ || below == nullptr || below->broker() == nullptr) return;
    if (how <= 3) {
      machine_.history.note("the broker of {} stands still for {} ms", child, lasts / kMs);
      return below->broker()->stall(lasts);
    }
    machine_.wires.hold_of(*below->broker(), below->parent_uri(), lasts);
  });
  if (!dice.one_in(3)) return;
  machine_.timeline.after(dice.between(fence_ / 2, 2 * fence_ + 500) * kMs, [this, child] {
    Instance* const below = find(child);
    Instance* const above = below == nullptr ? nullptr : parent_of(*below);
    if (!calm_ && above != nullptr) kill_broker(*above);
  });
}

void World::lend(Instance& child) {
  auto& dice = machine_.dice;
  msg::GrantLend what;
  what.cores = dice.one_in(3) ? 2 : 1;
  if (has_gpus_ && dice.one_in(3)) what.gpus = 1;
  const auto lasts = dice.one_in(2) ? dice.between(200, 3'000) : dice.between(3'000, 20'000);
  what.until = instance::wall_clock_ms() + lasts;
  user_->ask(
      child.uri(), "grant.lend", transport::pack(what),
      [this, path = child.path()](const Result<std::string>& answer) {
        const auto lent =
            answer ? transport::unpack<msg::GrantLent>(*answer) : tl::unexpected(answer.error());
        if (lent)
          machine_.history.note("{} lends {} cores and {} GPUs", path, lent->cores, lent->gpus);
      });
  if (has_faults_ && dice.one_in(3))
    fail_as_it_ends(child.path(), static_cast<double>(lasts) / 1'000);
}

// One that lends has it back before its time as often as not; or another instance has lent, and its
// child is asked to lend what it has of that.
void World::lend_or_have_back(Instance& child) {
  auto& dice = machine_.dice;
  const auto* const core = child.core();
  const bool lends =
      core != nullptr && !link_to(core->grants.book(), holdings::kParent).loans.empty();
  if (!lends || !dice.one_in(2)) return lend(child);
  msg::GrantRecall recall;
  recall.notice = dice.one_in(2) ? 0 : dice.between(20, 2'000);
  recall.kill = dice.one_in(2);
  recall.reason = "a user says so";
  if (const Instance* const above = parent_of(child); recall.kill && above != nullptr)
    checks_.may_be_ended_below(above->path());
  user_->ask(child.uri(), "grant.recall", transport::pack(recall),
             [this, path = child.path(), kill = recall.kill](const Result<std::string>& answer) {
               if (answer)
                 machine_.history.note("{} is to have back what it has lent{}", path,
                                       kill ? ", and what runs there ends" : "");
             });
}

// A user of the parent cancels the job that holds it.
void World::cancel_grant(const Instance& child) {
  const Instance* const parent = parent_of(child);
  const auto* core = parent == nullptr || !parent->ready() ? nullptr : parent->core();
  if (core == nullptr) return;
  const auto grants = core->jobs.grants().find(JobId(number_in_parent(child)));
  if (grants == core->jobs.grants().end()) return;
  msg::CancelRequest ask;
  ask.ids = {grants->second.begin()->value()};
  ask.reason = "a user says so";
  user_->ask(parent->uri(), "cancel", transport::pack(ask),
             [this, path = child.path()](const Result<std::string>& answer) {
               if (answer) machine_.history.note("a grant of {} is cancelled", path);
             });
}

}  // namespace holon::world
